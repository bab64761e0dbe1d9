/** In scripts without spaces a word is what ends like a sentence. */
const plainToken = /[^\s。！？]*[。！？]+|\S+|\s+/gu
/**
 * A Markdown construct is one token: a link, code, short emphasis. The text between its marks holds no such mark, so
 * the search for an end runs once.
 */
const inlineToken =
  /\[[^[\]\n]{0,300}\]\([^\s()[\]<>"]{0,2048}\)|`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*|(?<![*\w])\*[^*\s][^*\n]{0,300}\*|(?<!\w)__?[^_\s][^_\n]{0,300}__?|~~[^~\n]{1,300}~~|[^\s。！？[`*_~]*[。！？]+|[^\s。！？[`*_~]+|\s+|\S/gu
const line = /[^\n]*\n|[^\n]+/g
const blankLine = /^[ \t]*\n$/
const wordEnd = /(?:\s|[。！？])$/u
/** Closing marks come after the one that ends a sentence; a line ends one, too. */
const sentenceEnd = /(?:[.!?…][\p{Pe}\p{Pf}"'*_~`]*\s+|[。！？][\p{Pe}\p{Pf}]*\s*|\n\s*)$/u

/** Paragraphs with the blank lines after them; put together they are the text again. */
export function readParagraphs(text: string): Generator<string> {
  return readUntil(blankLine, readMatches(text, line))
}

/** Words with the space after them; put together they are the text again. */
export function readPlainWords(text: string): Generator<string> {
  return readUntil(wordEnd, readMatches(text, plainToken))
}

/** Words of markdown: what is linked or emphasised in one is in one word. */
export function readInlineWords(text: string): Generator<string> {
  return readUntil(wordEnd, readMatches(text, inlineToken))
}

/** Words put together to sentences. */
export function readSentences(words: Iterable<string>): Generator<string> {
  return readUntil(sentenceEnd, words)
}

function* readMatches(text: string, pattern: RegExp): Generator<string> {
  for (const [found] of text.matchAll(pattern)) yield found
}

/** Joins pieces up to one that ends as `end` says. */
function* readUntil(end: RegExp, pieces: Iterable<string>): Generator<string> {
  const gathered: string[] = []
  for (const piece of pieces) {
    gathered.push(piece)
    if (end.test(piece)) yield gathered.splice(0).join('')
  }
  if (gathered.length > 0) yield gathered.join('')
}
