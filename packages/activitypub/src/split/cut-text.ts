import { inlineToPostHtml } from '@postern/markup/markdown'
import { createCut } from './cut.ts'
import { readGraphemes } from './length/graphemes.ts'
import { countText, countVisible, readAddresses } from './length/visible-length.ts'
import { readInlineWords, readParagraphs, readPlainWords, readSentences } from './words.ts'

/** An overlong word: addresses in it stay whole, the rest falls apart between grapheme clusters. */
const cutWord = createCut({ units: readWordPieces, measure: countText, gap: 0 })
const cutWords = createCut({ units: readPlainWords, measure: countText, gap: 0, finer: cutWord })

const cutSentences = createCut({
  units: text => readSentences(readPlainWords(text)),
  measure: countText,
  gap: 0,
  finer: cutWords,
})

const cutInlineWords = createCut({ units: readInlineWords, measure: countInline, gap: 0, finer: cutSentences })

/** Text as it is: paragraphs first, then sentences and lines, then words. */
export const cutPlain = createCut({ units: readParagraphs, measure: countText, gap: 0, finer: cutSentences })

/** A paragraph of markdown. */
export const cutParagraph = createCut({
  units: text => readSentences(readInlineWords(text)),
  measure: countInline,
  gap: 0,
  finer: cutInlineWords,
})

function* readWordPieces(word: string): Generator<string> {
  for (const { text, isWhole } of readAddresses(word)) {
    if (isWhole) yield text
    else yield* readGraphemes(text)
  }
}

/** As it will be shown, with the space around it. */
function countInline(text: string, max: number): number {
  const words = text.trim()
  return countVisible(inlineToPostHtml(words), max) + text.length - words.length
}
