set -e
x=$(a | b) || { c; exit 1; }
case $x in a|b) c ;; esac
cat <<EOF | tee y
$(z)
EOF
[[ a || b ]] && f() { g; }
