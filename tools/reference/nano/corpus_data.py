# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Word lists of the synthetic corpus: the small world that the bundled model knows. No logic here."""

# country, capital, language, continent
COUNTRIES = [
    ("France", "Paris", "French", "Europe"), ("Germany", "Berlin", "German", "Europe"),
    ("Italy", "Rome", "Italian", "Europe"), ("Spain", "Madrid", "Spanish", "Europe"),
    ("Portugal", "Lisbon", "Portuguese", "Europe"), ("Greece", "Athens", "Greek", "Europe"),
    ("Poland", "Warsaw", "Polish", "Europe"), ("Austria", "Vienna", "German", "Europe"),
    ("Hungary", "Budapest", "Hungarian", "Europe"), ("Sweden", "Stockholm", "Swedish", "Europe"),
    ("Norway", "Oslo", "Norwegian", "Europe"), ("Finland", "Helsinki", "Finnish", "Europe"),
    ("Denmark", "Copenhagen", "Danish", "Europe"), ("England", "London", "English", "Europe"),
    ("Ireland", "Dublin", "English", "Europe"), ("Russia", "Moscow", "Russian", "Europe"),
    ("Turkey", "Ankara", "Turkish", "Asia"), ("Japan", "Tokyo", "Japanese", "Asia"),
    ("China", "Beijing", "Chinese", "Asia"), ("India", "New Delhi", "Hindi", "Asia"),
    ("Thailand", "Bangkok", "Thai", "Asia"), ("Vietnam", "Hanoi", "Vietnamese", "Asia"),
    ("Iran", "Tehran", "Persian", "Asia"), ("Iraq", "Baghdad", "Arabic", "Asia"),
    ("Egypt", "Cairo", "Arabic", "Africa"), ("Kenya", "Nairobi", "Swahili", "Africa"),
    ("Morocco", "Rabat", "Arabic", "Africa"), ("Ghana", "Accra", "English", "Africa"),
    ("Canada", "Ottawa", "English", "North America"), ("Mexico", "Mexico City", "Spanish", "North America"),
    ("Cuba", "Havana", "Spanish", "North America"), ("Brazil", "Brasilia", "Portuguese", "South America"),
    ("Peru", "Lima", "Spanish", "South America"), ("Chile", "Santiago", "Spanish", "South America"),
    ("Switzerland", "Bern", "German", "Europe"), ("Belgium", "Brussels", "French", "Europe"),
    ("the Netherlands", "Amsterdam", "Dutch", "Europe"), ("Ukraine", "Kyiv", "Ukrainian", "Europe"),
    ("Romania", "Bucharest", "Romanian", "Europe"), ("Bulgaria", "Sofia", "Bulgarian", "Europe"),
    ("Croatia", "Zagreb", "Croatian", "Europe"), ("Iceland", "Reykjavik", "Icelandic", "Europe"),
    ("South Korea", "Seoul", "Korean", "Asia"), ("Indonesia", "Jakarta", "Indonesian", "Asia"),
    ("Nepal", "Kathmandu", "Nepali", "Asia"), ("Pakistan", "Islamabad", "Urdu", "Asia"),
    ("Saudi Arabia", "Riyadh", "Arabic", "Asia"), ("Nigeria", "Abuja", "English", "Africa"),
    ("Ethiopia", "Addis Ababa", "Amharic", "Africa"), ("Algeria", "Algiers", "Arabic", "Africa"),
    ("Colombia", "Bogota", "Spanish", "South America"), ("Venezuela", "Caracas", "Spanish", "South America"),
    ("New Zealand", "Wellington", "English", "Oceania"), ("Czechia", "Prague", "Czech", "Europe"),
    ("Argentina", "Buenos Aires", "Spanish", "South America"), ("Australia", "Canberra", "English", "Oceania"),
]
OPPOSITES = [
    ("hot", "cold"), ("big", "small"), ("up", "down"), ("day", "night"), ("black", "white"), ("good", "bad"),
    ("fast", "slow"), ("old", "young"), ("happy", "sad"), ("open", "closed"), ("wet", "dry"), ("hard", "soft"),
    ("light", "dark"), ("rich", "poor"), ("full", "empty"), ("high", "low"), ("loud", "quiet"), ("left", "right"),
    ("early", "late"), ("strong", "weak"), ("true", "false"), ("inside", "outside"), ("near", "far"),
    ("long", "short"), ("clean", "dirty"), ("thick", "thin"), ("first", "last"), ("sweet", "sour"),
]
COLOURS = [
    ("the sky", "blue"), ("grass", "green"), ("snow", "white"), ("blood", "red"), ("coal", "black"),
    ("a banana", "yellow"), ("the sun", "yellow"), ("milk", "white"), ("a tomato", "red"), ("a leaf", "green"),
    ("an orange", "orange"), ("a carrot", "orange"), ("chocolate", "brown"), ("a cloud", "white"),
    ("the sea", "blue"), ("a frog", "green"), ("a strawberry", "red"), ("a lemon", "yellow"), ("a crow", "black"),
    ("an elephant", "grey"),
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December"]
SOUNDS = [
    ("dog", "woof"), ("cat", "meow"), ("cow", "moo"), ("duck", "quack"), ("sheep", "baa"), ("pig", "oink"),
    ("lion", "roar"), ("bee", "buzz"), ("snake", "hiss"), ("frog", "ribbit"), ("owl", "hoot"), ("crow", "caw"),
    ("bird", "tweet"), ("horse", "neigh"), ("mouse", "squeak"),
]
YOUNG = [
    ("dog", "puppy"), ("cat", "kitten"), ("cow", "calf"), ("sheep", "lamb"), ("horse", "foal"), ("duck", "duckling"),
    ("goat", "kid"), ("lion", "cub"), ("bear", "cub"), ("pig", "piglet"), ("hen", "chick"), ("deer", "fawn"),
    ("frog", "tadpole"), ("goose", "gosling"), ("fox", "cub"), ("swan", "cygnet"), ("kangaroo", "joey"),
]
HOMES = [
    ("bird", "nest"), ("bee", "hive"), ("dog", "kennel"), ("spider", "web"), ("bear", "cave"), ("fox", "den"),
    ("horse", "stable"), ("rabbit", "burrow"), ("pig", "sty"), ("hen", "coop"), ("fish", "sea"), ("king", "castle"),
]
COUNTS = [
    ("a week", "seven", "days"), ("a year", "twelve", "months"), ("a day", "twenty-four", "hours"),
    ("an hour", "sixty", "minutes"), ("a minute", "sixty", "seconds"), ("a spider", "eight", "legs"),
    ("an insect", "six", "legs"), ("a dog", "four", "legs"), ("a bird", "two", "wings"), ("a triangle", "three", "sides"),
    ("a square", "four", "sides"), ("a hand", "five", "fingers"), ("a car", "four", "wheels"),
    ("a bicycle", "two", "wheels"), ("an octopus", "eight", "arms"), ("a hexagon", "six", "sides"),
    ("a year", "four", "seasons"), ("a dozen", "twelve", "things"), ("a cat", "four", "legs"), ("a person", "two", "eyes"),
]
KINDS = [
    ("apple", "fruit"), ("banana", "fruit"), ("pear", "fruit"), ("grape", "fruit"), ("carrot", "vegetable"),
    ("onion", "vegetable"), ("potato", "vegetable"), ("rose", "flower"), ("tulip", "flower"), ("daisy", "flower"),
    ("oak", "tree"), ("pine", "tree"), ("salmon", "fish"), ("shark", "fish"), ("eagle", "bird"), ("sparrow", "bird"),
    ("hammer", "tool"), ("saw", "tool"), ("violin", "musical instrument"), ("piano", "musical instrument"),
    ("ant", "insect"), ("bee", "insect"), ("gold", "metal"), ("iron", "metal"), ("chair", "piece of furniture"),
    ("table", "piece of furniture"), ("square", "shape"), ("circle", "shape"), ("football", "sport"), ("tennis", "sport"),
]
NO_ARTICLE = {"gold", "iron", "football", "tennis"}
WORK = [
    ("baker", "bakes bread", "in a bakery"), ("doctor", "helps sick people", "in a hospital"),
    ("teacher", "teaches children", "in a school"), ("farmer", "grows food", "on a farm"),
    ("pilot", "flies planes", "at an airport"), ("cook", "makes meals", "in a kitchen"),
    ("sailor", "sails ships", "on a ship"), ("painter", "paints pictures", "in a studio"),
    ("writer", "writes books", "in a library"), ("gardener", "grows flowers", "in a garden"),
    ("fisherman", "catches fish", "on a boat"), ("miner", "digs for coal", "in a mine"),
    ("judge", "decides cases", "in a court"), ("actor", "plays parts", "in a theatre"),
]
PLURALS = [
    ("mouse", "mice"), ("child", "children"), ("foot", "feet"), ("tooth", "teeth"), ("goose", "geese"), ("man", "men"),
    ("woman", "women"), ("leaf", "leaves"), ("wolf", "wolves"), ("knife", "knives"), ("book", "books"), ("box", "boxes"),
    ("city", "cities"), ("sheep", "sheep"), ("fish", "fish"), ("tree", "trees"), ("baby", "babies"), ("house", "houses"),
]
MISC = [
    ("The largest planet is", "Jupiter", "What is the largest planet?"),
    ("The planet closest to the Sun is", "Mercury", "Which planet is closest to the Sun?"),
    ("The planet we live on is", "Earth", "Which planet do we live on?"),
    ("The red planet is", "Mars", "Which planet is the red planet?"),
    ("The planet with the great rings is", "Saturn", "Which planet has great rings?"),
    ("The star closest to the Earth is", "the Sun", "Which star is closest to the Earth?"),
    ("Water freezes into", "ice", "What does water freeze into?"),
    ("Ice melts into", "water", "What does ice melt into?"),
    ("Boiling water turns into", "steam", "What does boiling water turn into?"),
    ("Bees make", "honey", "What do bees make?"),
    ("Cows give", "milk", "What do cows give?"),
    ("Hens lay", "eggs", "What do hens lay?"),
    ("Sheep give us", "wool", "What do sheep give us?"),
    ("Bread is made from", "flour", "What is bread made from?"),
    ("Cheese is made from", "milk", "What is cheese made from?"),
    ("Paper is made from", "wood", "What is paper made from?"),
    ("Wine is made from", "grapes", "What is wine made from?"),
    ("Glass is made from", "sand", "What is glass made from?"),
    ("We see with our", "eyes", "What do we see with?"),
    ("We hear with our", "ears", "What do we hear with?"),
    ("We smell with our", "nose", "What do we smell with?"),
    ("We taste with our", "tongue", "What do we taste with?"),
    ("We think with our", "brain", "What do we think with?"),
    ("The heart pumps", "blood", "What does the heart pump?"),
    ("The largest ocean is the", "Pacific Ocean", "What is the largest ocean?"),
    ("The highest mountain is", "Mount Everest", "What is the highest mountain?"),
    ("The largest animal is the", "blue whale", "What is the largest animal?"),
    ("The fastest land animal is the", "cheetah", "What is the fastest land animal?"),
    ("The tallest animal is the", "giraffe", "What is the tallest animal?"),
    ("The king of the animals is the", "lion", "Who is the king of the animals?"),
    ("The Sun rises in the", "east", "Where does the Sun rise?"),
    ("The Sun sets in the", "west", "Where does the Sun set?"),
    ("Winter is followed by", "spring", "Which season comes after winter?"),
    ("Spring is followed by", "summer", "Which season comes after spring?"),
    ("Summer is followed by", "autumn", "Which season comes after summer?"),
    ("Autumn is followed by", "winter", "Which season comes after autumn?"),
    ("Fish breathe with", "gills", "What do fish breathe with?"),
    ("Birds fly with their", "wings", "What do birds fly with?"),
    ("The chemical formula of water is", "H2O", "What is the chemical formula of water?"),
    ("The first letter of the alphabet is", "A", "What is the first letter of the alphabet?"),
    ("The last letter of the alphabet is", "Z", "What is the last letter of the alphabet?"),
    ("The first day of the week is", "Monday", "What is the first day of the week?"),
    ("The first month of the year is", "January", "What is the first month of the year?"),
    ("The last month of the year is", "December", "What is the last month of the year?"),
    ("Rain falls from the", "clouds", "Where does rain fall from?"),
    ("The Moon goes around the", "Earth", "What does the Moon go around?"),
    ("The Earth goes around the", "Sun", "What does the Earth go around?"),
    ("Doctors work in a", "hospital", "Where do doctors work?"),
    ("A clock shows the", "time", "What does a clock show?"),
    ("We read", "books", "What do we read?"),
    ("We cut paper with", "scissors", "What do we cut paper with?"),
]
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
           "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]
IRREGULAR = [
    ("go", "went", "gone"), ("see", "saw", "seen"), ("eat", "ate", "eaten"), ("run", "ran", "run"), ("give", "gave", "given"),
    ("take", "took", "taken"), ("write", "wrote", "written"), ("speak", "spoke", "spoken"), ("sing", "sang", "sung"),
    ("swim", "swam", "swum"), ("drink", "drank", "drunk"), ("drive", "drove", "driven"), ("break", "broke", "broken"),
    ("begin", "began", "begun"), ("know", "knew", "known"), ("grow", "grew", "grown"), ("fly", "flew", "flown"),
    ("draw", "drew", "drawn"), ("find", "found", "found"), ("think", "thought", "thought"), ("buy", "bought", "bought"),
    ("bring", "brought", "brought"), ("teach", "taught", "taught"), ("catch", "caught", "caught"), ("sleep", "slept", "slept"),
    ("keep", "kept", "kept"), ("leave", "left", "left"), ("build", "built", "built"), ("make", "made", "made"),
    ("have", "had", "had"), ("say", "said", "said"), ("sit", "sat", "sat"), ("win", "won", "won"), ("tell", "told", "told"),
]
REGULAR = """walk talk look jump play help ask answer call clean climb close cook count cover cross dance dream fix follow
happen hate hope join kick kill land laugh learn lift like listen live love mend miss move need open order pack paint pass
pick plant point pour pull push rain reach rest return save shout show smile start stay stop thank touch train travel
trust turn use visit wait wash watch whisper wish wonder work worry add borrow burn change collect cough decide deliver
discover enjoy explain fetch finish float gather guess guide hunt imagine invent invite knock measure mix notice offer
paddle polish post prepare promise protect publish question reason record repair repeat report rescue review roll sail
search share shiver sign skip solve sort splash squeeze stretch suggest support surprise taste test tidy trade translate
treat welcome wrap yawn accept admire agree allow appear argue arrange arrive attach avoid balance behave believe belong
blink boil breathe brush celebrate chase choose compare complain connect contain continue copy create damage describe
design destroy develop disappear divide double doubt earn encourage escape examine excite exercise expect explore fail
fasten file fill film fold force form frighten gaze glow greet handle harvest heal heat hurry identify improve include
increase influence inform inspect interest introduce judge juggle label last lean level load lock mark marry match
melt memorise mention move multiply name nod observe obey own park perform permit pinch place please possess practise
praise prefer press prevent print produce provide punish race raise realise receive recognise reduce refuse regret
release remember remind remove replace request respect retire reward risk rock rub rule scatter scold scratch seal
separate serve settle shelter slice slip smell smooth sparkle spell spill spoil stamp stare steer stitch store struggle
study succeed suffer supply suppose surround suspect tame tap target tease thaw tie tickle tour trap tremble trick tumble
twist unite unlock value vanish wander warm warn waste wave weigh whistle wink wipe wrestle zoom""".split()
# verbs of REGULAR that double their last letter: stopped, stopping
DOUBLING = {"stop", "skip", "tap", "trap", "rub", "wrap", "slip", "nod", "permit", "prefer", "regret"}
NOUNS = """bag ball basket bed bell bench blanket boat bone book bottle bowl box bread bridge broom brush bucket button cake
camera candle card carpet chair clock coat coin cup curtain desk dish doll door drum engine envelope farm feather fence field
flag flute fork garden gate gift glass glove guitar hammer hat hill island jacket jar jewel jug kettle key kite ladder lake
lamp letter map market medal mirror moon mountain nail needle newspaper orchard oven page path pencil picture pillow
plate pocket pond puzzle ribbon ring river road robot rope sail scarf shell ship shirt shoe shovel spoon stamp star stone
story street string table tent ticket tool tower toy train tree trumpet tunnel umbrella valley village wagon wall watch
well wheel whistle window wood yard""".split()
ADJECTIVES = """beautiful brave bright broken calm careful cheap clever comfortable curious dangerous deep delicious different
difficult easy enormous excellent expensive famous fresh friendly funny gentle golden great heavy helpful honest important
interesting kind large lazy lovely lucky magic modern narrow new noisy ordinary patient perfect plain pleasant polite popular
pretty proud rare ready round rough royal safe serious shiny silent silver simple special splendid square strange
sunny terrible tiny useful usual warm wide wild wise wonderful wooden""".split()

HEROES = [("rabbit", "it"), ("fox", "it"), ("bear", "it"), ("mouse", "it"), ("dog", "it"), ("cat", "it"), ("duck", "it"),
          ("frog", "it"), ("owl", "it"), ("girl", "she"), ("boy", "he"), ("princess", "she"), ("prince", "he")]
GIRLS = ["Anna", "Mia", "Lily", "Rosa", "Emma", "Nora", "Clara", "Ella", "Lucy", "Zoe"]
BOYS = ["Tom", "Max", "Leo", "Ben", "Sam", "Jack", "Oscar", "Theo", "Hugo", "Finn"]
# second persons of stories have names of their own: a model this small would often call both the same
FRIEND_GIRLS = ["Sara", "Ida", "Maya", "Nina", "Olive", "Ruby", "Tina", "Vera"]
FRIEND_BOYS = ["Adam", "Carl", "Eric", "Felix", "Henry", "Ivan", "Paul", "Simon"]
PLACES = ["in a small house near the forest", "in a green valley", "by a big blue lake", "at the edge of a village",
          "on a quiet farm", "on top of a hill", "near the sea", "in the middle of a forest"]
THINGS = ["ball", "kite", "hat", "key", "book", "bell", "lamp", "boat", "drum", "scarf", "basket", "coin"]
THING_COLOURS = ["red", "blue", "green", "yellow", "white", "golden"]
GOALS = ["the top of the hill", "the big oak tree", "the old bridge", "the lake", "the mill"]
SPOTS = ["under the old tree", "behind the house", "near the river", "in the tall grass", "under the bridge",
         "beside the well", "behind a big rock", "in the garden"]
FOODS = ["bread", "cake", "soup", "honey", "cheese", "an apple pie", "berries", "nuts"]
SKILLS = ["swim", "sing", "dance", "paint", "read", "whistle", "ride a bicycle", "fly a kite"]

# what people ask and the model cannot know
UNKNOWN = ["Who won the match yesterday?", "What will the weather be tomorrow?", "What is the price of gold today?",
           "Can you explain quantum physics?", "Who wrote this book?", "What is the meaning of life?", "How old is the king?",
           "What is my name?", "Where did I put my keys?", "What time is it?", "Which number am I thinking of?",
           "Who is the president?", "What happened in the news today?", "How do I fix my car?", "What is the square root of 1234567?"]

# (Chinese country, capital), (thing, colour), free sentences
ZH_CAPITALS = [("法国", "巴黎"), ("德国", "柏林"), ("意大利", "罗马"), ("西班牙", "马德里"), ("英国", "伦敦"), ("俄罗斯", "莫斯科"),
               ("日本", "东京"), ("中国", "北京"), ("泰国", "曼谷"), ("埃及", "开罗"), ("加拿大", "渥太华"), ("希腊", "雅典")]
ZH_COLOURS = [("天空", "蓝色"), ("草", "绿色"), ("雪", "白色"), ("香蕉", "黄色"), ("血", "红色"), ("煤", "黑色"), ("大海", "蓝色")]
ZH_OPPOSITES = [("大", "小"), ("高", "低"), ("冷", "热"), ("黑", "白"), ("多", "少"), ("快", "慢"), ("上", "下"), ("早", "晚")]
ZH_FREE = ["一年有十二个月。", "一个星期有七天。", "一天有二十四个小时。", "狗有四条腿。", "鸟会飞。", "鱼住在水里。", "水结成冰。",
           "太阳从东方升起。", "太阳从西方落下。", "你好，世界！", "我喜欢读书。", "今天天气很好。", "他们在学校学习中文。",
           "小猫喜欢喝牛奶。", "春天来了，花开了。", "我的朋友住在北京。", "妈妈做的饭很好吃。", "我们一起去公园玩。"]
AR_CAPITALS = [("فرنسا", "باريس"), ("ألمانيا", "برلين"), ("إيطاليا", "روما"), ("إسبانيا", "مدريد"), ("مصر", "القاهرة"),
               ("العراق", "بغداد"), ("المغرب", "الرباط"), ("اليابان", "طوكيو"), ("الصين", "بكين"), ("روسيا", "موسكو")]
AR_COLOURS = [("السماء", "زرقاء"), ("الشمس", "صفراء"), ("الأرض", "خضراء"), ("السحابة", "بيضاء"), ("الوردة", "حمراء")]
AR_FREE = ["في السنة اثنا عشر شهرا.", "في الأسبوع سبعة أيام.", "مرحبا بالعالم!", "أنا أحب القراءة.", "الطقس جميل اليوم.",
           "القط يشرب الحليب.", "الطائر يطير في السماء.", "السمك يعيش في الماء.", "تشرق الشمس من الشرق.",
           "تغرب الشمس في الغرب.", "صديقي يسكن في القاهرة.", "نحن نتعلم اللغة العربية في المدرسة.", "الكتاب على الطاولة."]
