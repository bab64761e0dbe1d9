import type { Passage } from './passages.ts'
import { restoreCodes } from './passages.ts'

export interface Sentence {
  readonly kind: Passage['kind']
  /** Line of the file where it begins, from 1. */
  readonly line: number
  /** Without line breaks; a code span is one character. */
  readonly text: string
  /** As its author wrote it. */
  readonly shown: string
}

/** A full stop, a question or exclamation mark ends a sentence if a capital, a number, code or a quotation follows. */
const end = /(?<=[.!?][)"”’*]*)\s+(?=["“(]?[\p{Lu}\p{N}\uE000-\uF8FF])/u
const abbreviations = /\b(?:e\.g|i\.e|etc|cf|vs|No|Mr|Ms|Dr|St|approx)\.$/

/** The sentences of a passage, each with its own line. */
export function splitSentences({ kind, line, text, codes }: Passage): readonly Sentence[] {
  const sentences: Sentence[] = []
  let at = 0
  for (const piece of joinAbbreviations(text.split(new RegExp(end.source, 'gu')))) {
    const start = text.indexOf(piece, at)
    at = start + piece.length
    const flat = piece.replace(/\s+/g, ' ').trim()
    if (flat !== '')
      sentences.push({
        kind,
        line: line + text.slice(0, start).split('\n').length - 1,
        text: flat,
        shown: restoreCodes(flat, codes),
      })
  }
  return sentences
}

/** A word has a letter or a digit; a code span is one. A sign such as `–` is none. */
export function countWords(text: string): number {
  return text.split(/\s+/).filter(word => /[\p{L}\p{N}\uE000-\uF8FF]/u.test(word)).length
}

function joinAbbreviations(pieces: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (const piece of pieces) {
    const before = joined.at(-1)
    if (before !== undefined && abbreviations.test(before)) joined[joined.length - 1] = `${before} ${piece}`
    else joined.push(piece)
  }
  return joined
}
