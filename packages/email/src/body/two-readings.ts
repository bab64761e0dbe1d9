// Compares the plain text of a mail with the text of its HTML.

/** The reading from which the newest text is taken, and its relation to the other reading. */
interface ReadingChoice {
  readonly source: 'plain' | 'html'
  readonly differs: boolean
  /** True if the other reading has words that this one lacks. */
  readonly leavesOut: boolean
}

/** Shares of words in common. Below the first, two readings differ. From the second on, one reading contains the other. */
const [sameShare, containedShare] = [0.3, 0.6]
/** The minimum number of words for a comparison. Shorter readings may differ by chance. */
const minComparedWords = 5
/**
 * The numbers of own words with which one reading says more. The smaller number is enough if these words are at least the given share of the reading.
 */
const [manyWords, fewWords, largeShare] = [5, 2, 0.25]
/**
 * The limits for plain text that only replaces the HTML: at most this share of the HTML's words, or at most this many words that mention a browser or
 * mail program.
 */
const [stubShare, stubWords] = [0.5, 60]

/**
 * Chooses the reading that an agent gets. HTML comes last in `multipart/alternative` because it is the fullest form (RFC 2046 §5.1.4). So the HTML is
 * chosen if it says more than the plain text and contains it, or if the plain text is only a substitute. No program makes two different texts of
 * similar length from one message, so in that case the plain text counts.
 * @param html the text of the HTML that a reader sees, without hidden text
 */
export function chooseReading(plainText: string, html: string): ReadingChoice {
  const [words, htmlWords] = [listWords(plainText), listWords(html)]
  const differs = haveFewCommonWords(words, htmlWords)
  if (!saysMore(words, htmlWords)) return { source: 'plain', differs, leavesOut: differs }
  const isContained = countCommon(words, htmlWords) >= words.size * containedShare
  const isStub = words.size <= htmlWords.size * stubShare || (words.size <= stubWords && namesViewer.test(plainText))
  if (!isContained && !isStub) return { source: 'plain', differs, leavesOut: differs }
  return { source: 'html', differs, leavesOut: differs || saysMore(htmlWords, words) }
}

/** Returns true if `otherWords` say something that `words` do not. One number is enough, because it may be an amount, a date or a code. */
function saysMore(words: ReadonlySet<string>, otherWords: ReadonlySet<string>): boolean {
  const ownWords = [...otherWords].filter(word => !words.has(word))
  if (ownWords.some(word => /\p{Nd}/u.test(word))) return true
  return (
    ownWords.length >= manyWords || (ownWords.length >= fewWords && ownWords.length >= otherWords.size * largeShare)
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
const namesViewer =
  /(?<![\p{Script=Latin}\p{N}])(?:html|mime)(?![\p{Script=Latin}\p{N}])|(?<![\p{L}\p{N}])(?:e-?mail[- ]client|(?:web)?browser\p{L}{0,4}|navigateur|navegador|explorador|webbläsare|nettleser|selain\p{L}{0,6}|przeglądar\p{L}{1,5}|prohlížeč\p{L}{0,3}|böngésző\p{L}{0,4}|tarayıcı\p{L}{0,5}|браузер\p{L}{0,3}|переглядач\p{L}{0,3}|πρόγραμμα περιήγησης|דפדפן|المتصفح|متصفح|trình duyệt|peramban)(?![\p{L}\p{N}])|ブラウザ|浏览器|瀏覽器|브라우저|เบราว์เซอร์/iu

/** The limits on compared text. */
const [maxChars, maxWords] = [256 * 1024, 20_000]
const urlPattern = /(?:https?:\/\/|mailto:|www\.)[^\s<>"]+/gi
/** Scripts without spaces between words. Text in them is compared in pieces. */
const unspaced = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}`
const wordPattern = new RegExp(`[${unspaced}]+|(?:(?![${unspaced}])[\\p{L}\\p{N}\\p{M}])+`, 'gu')
const unspacedStart = new RegExp(`^[${unspaced}]`, 'u')
const wrapPattern = new RegExp(`(?<=[${unspaced}])[\\s>]+(?=[${unspaced}])`, 'gu')
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
