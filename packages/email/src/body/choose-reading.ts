// Chooses between the plain text of a mail and the text of its HTML.

/** The reading from which the newest text is taken, and its relation to the other reading. */
interface ReadingChoice {
  readonly source: 'plain' | 'html'
  readonly differs: boolean
  /** True if the other reading has words that the chosen reading lacks. */
  readonly omitsWords: boolean
}

/**
 * Two readings differ if they share less than `sameShare` of their words. One reading contains the other from
 * `containedShare` on.
 */
const [sameShare, containedShare] = [0.3, 0.6]
/** The minimum number of words for a comparison. Shorter readings may differ by chance. */
const minComparedWords = 5
/**
 * A reading says more if it alone has `manyWords` words. It also says more if it alone has `fewWords` words and these
 * are at least `largeShare` of it.
 */
const [manyWords, fewWords, largeShare] = [5, 2, 0.25]
/**
 * A plain text is only a substitute if it has at most `stubShare` of the words of the HTML, or at most `stubWords`
 * words that mention a browser or a mail program.
 */
const [stubShare, stubWords] = [0.5, 60]

/**
 * Chooses the reading that an agent gets. HTML comes last in `multipart/alternative`, because it is the richest form
 * (RFC 2046 §5.1.4). So the HTML is chosen if it says more than the plain text and contains it, or if the plain text is
 * only a substitute. No program makes two different texts of similar length from one message, so in that case the plain
 * text counts.
 * @param htmlText the visible text of the HTML
 */
export function chooseReading(plainText: string, htmlText: string): ReadingChoice {
  if (haveSameWords(plainText, htmlText)) return { source: 'plain', differs: false, omitsWords: false }
  const [words, htmlWords] = [listWords(plainText), listWords(htmlText)]
  const differs = haveFewCommonWords(words, htmlWords)
  if (!addsWords(words, htmlWords)) return { source: 'plain', differs, omitsWords: differs }
  const isContained = countCommon(words, htmlWords) >= words.size * containedShare
  const isStub = words.size <= htmlWords.size * stubShare || (words.size <= stubWords && viewerPattern.test(plainText))
  if (!isContained && !isStub) return { source: 'plain', differs, omitsWords: differs }
  return { source: 'html', differs, omitsWords: differs || addsWords(htmlWords, words) }
}

/**
 * Returns true if two texts differ in white space at most. Most programs write both texts from one message, and such texts
 * need no comparison word by word.
 */
function haveSameWords(text: string, otherText: string): boolean {
  if (Math.max(text.length, otherText.length) > maxChars) return false
  let [index, otherIndex] = [0, 0]
  for (;;) {
    const [next, otherNext] = [skipSpace(text, index), skipSpace(otherText, otherIndex)]
    if (next === text.length || otherNext === otherText.length)
      return next === text.length && otherNext === otherText.length
    const isSameGap = index === 0 || next > index === otherNext > otherIndex
    if (!isSameGap || text[next] !== otherText[otherNext]) return false
    index = next + 1
    otherIndex = otherNext + 1
  }
}

/** Returns the index after the white space at an index. */
function skipSpace(text: string, start: number): number {
  let index = start
  while (index < text.length && isSpace(text.charCodeAt(index))) index += 1
  return index
}

function isSpace(code: number): boolean {
  return code <= 0x20
    ? code === 0x20 || (code >= 0x09 && code <= 0x0d)
    : code >= 0xa0 && /\s/.test(String.fromCharCode(code))
}

/**
 * Returns true if `otherWords` say something that `words` do not. One additional number is enough, because it may be an
 * amount, a date or a code.
 */
function addsWords(words: ReadonlySet<string>, otherWords: ReadonlySet<string>): boolean {
  const additionalWords = [...otherWords].filter(word => !words.has(word))
  if (additionalWords.some(word => /\p{Nd}/u.test(word))) return true
  return (
    additionalWords.length >= manyWords ||
    (additionalWords.length >= fewWords && additionalWords.length >= otherWords.size * largeShare)
  )
}

/** Returns true if two readings have hardly any words in common. Short words are ignored, because most texts of a language contain them. */
function haveFewCommonWords(words: ReadonlySet<string>, otherWords: ReadonlySet<string>): boolean {
  const [longWords, otherLongWords] = [listLongWords(words), listLongWords(otherWords)]
  const smallerSize = Math.min(longWords.size, otherLongWords.size)
  return smallerSize >= minComparedWords && countCommon(longWords, otherLongWords) < smallerSize * sameShare
}

function listLongWords(words: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...words].filter(word => word.length >= 4 || unspacedStart.test(word)))
}

function countCommon(words: ReadonlySet<string>, otherWords: ReadonlySet<string>): number {
  let commonCount = 0
  for (const word of words) if (otherWords.has(word)) commonCount += 1
  return commonCount
}

/** Matches words by which programs that send no plain text refer to a browser or a mail program. */
const viewerPattern =
  /(?<![\p{Script=Latin}\p{N}])(?:html|mime)(?![\p{Script=Latin}\p{N}])|(?<![\p{L}\p{N}])(?:e-?mail[- ]client|(?:web)?browser\p{L}{0,4}|navigateur|navegador|explorador|webbläsare|nettleser|selain\p{L}{0,6}|przeglądar\p{L}{1,5}|prohlížeč\p{L}{0,3}|böngésző\p{L}{0,4}|tarayıcı\p{L}{0,5}|браузер\p{L}{0,3}|переглядач\p{L}{0,3}|πρόγραμμα περιήγησης|דפדפן|المتصفح|متصفح|trình duyệt|peramban)(?![\p{L}\p{N}])|ブラウザ|浏览器|瀏覽器|브라우저|เบราว์เซอร์/iu

/** The limits on compared text. */
const [maxChars, maxWords] = [256 * 1024, 20_000]
const urlPattern = /(?:https?:\/\/|mailto:|www\.)[^\s<>"]+/gi
/** The scripts without spaces between words. Text in these scripts is compared in pieces. */
const unspacedScripts = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`
const wordPattern = new RegExp(`[${unspacedScripts}]+|(?:(?![${unspacedScripts}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')
const unspacedStart = new RegExp(`^[${unspacedScripts}]`, 'u')
const wrapPattern = new RegExp(`(?<=[${unspacedScripts}])[\\s>]+(?=[${unspacedScripts}])`, 'gu')
const pieceChars = 2

function listWords(text: string): ReadonlySet<string> {
  const normalizedText = text
    .slice(0, maxChars)
    .replace(urlPattern, ' ')
    .normalize('NFKC')
    .toLowerCase()
    .replace(wrapPattern, '')
  const words = new Set<string>()
  for (const [word] of normalizedText.matchAll(wordPattern)) {
    for (const piece of unspacedStart.test(word) ? listPieces(word) : [word.slice(0, 40)]) words.add(piece)
    if (words.size >= maxWords) break
  }
  return words
}

function listPieces(word: string): string[] {
  if (word.length <= pieceChars) return [word]
  return Array.from({ length: word.length - pieceChars + 1 }, (_, index) => word.slice(index, index + pieceChars))
}
