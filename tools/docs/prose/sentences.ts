// Splits prose into sentences, counts words and finds passive voice.
import type { Passage } from './passages.ts'
import { restoreCodes } from './passages.ts'

export interface Sentence {
  readonly kind: Passage['kind']
  /** The first line of the sentence in the file, from 1. */
  readonly line: number
  /** The text without line breaks, with one character for each code span. */
  readonly text: string
  /** The text as its author wrote it. */
  readonly display: string
}

/** Matches the end of a sentence: a full stop, question mark or exclamation mark before a capital, a number, code or a quotation. */
const sentenceEnd = /(?<=[.!?][)"”’*]*)\s+(?=["“(]?[\p{Lu}\p{N}\uE000-\uF8FF])/u
const abbreviations = /\b(?:e\.g|i\.e|etc|cf|vs|No|Mr|Ms|Dr|St|approx)\.$/

/** Splits a passage into sentences, each with its own line. */
export function splitSentences({ kind, line, text, codes }: Passage): readonly Sentence[] {
  const sentences: Sentence[] = []
  let position = 0
  for (const segment of joinAbbreviations(text.split(new RegExp(sentenceEnd.source, 'gu')))) {
    const segmentStart = text.indexOf(segment, position)
    position = segmentStart + segment.length
    const flat = segment.replace(/\s+/g, ' ').trim()
    if (flat !== '')
      sentences.push({
        kind,
        line: line + text.slice(0, segmentStart).split('\n').length - 1,
        text: flat,
        display: restoreCodes(flat, codes),
      })
  }
  return sentences
}

/** Counts words: letters or digits between spaces. A code span is one word, and a sign such as `–` is none. */
export function countWords(text: string): number {
  return text.split(/\s+/).filter(word => /[\p{L}\p{N}\uE000-\uF8FF]/u.test(word)).length
}

function joinAbbreviations(pieces: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (const segment of pieces) {
    const previousSegment = joined.at(-1)
    if (previousSegment !== undefined && abbreviations.test(previousSegment))
      joined[joined.length - 1] = `${previousSegment} ${segment}`
    else joined.push(segment)
  }
  return joined
}

/**
 * Finds passive voice: a form of `be` or `get`, up to three adverbs, and a past participle: "is sent", "has been
 * quietly dropped", "were not found". It misses passives without such a verb ("a message sent by Ann"), and those
 * that a noun divides ("Is the mail sent?").
 *
 * Participles in `states` describe a state instead of an action: "the sender is verified". They pass,
 * unless the sentence names the agent: "is verified by the gateway".
 */
export function findPassive(text: string): string | undefined {
  for (const [phrase, participle = '', remainder = ''] of text.matchAll(passive)) {
    const word = participle.toLowerCase()
    if (!isParticiple(word)) continue
    if (states.has(word) && !agentPhrase.test(remainder)) continue
    return phrase.slice(0, phrase.length - remainder.length).trim()
  }
  return undefined
}

const passive =
  /\b(?:is|are|was|were|be|been|being|isn['’]t|aren['’]t|wasn['’]t|weren['’]t|gets?|got|getting)\s+(?:(?:not|never|always|only|also|already|then|still|now|just|once|first|last|often|both|all|again|therefore|even|either|thus|nowhere|too|well|\p{L}+ly)\s+){0,3}(\p{L}+)(?![\p{L}-])((?:\s+by\s+\S+)?)/giu
/** The phrases "by default" and "by hand" name no agent. */
const agentPhrase = /\s+by\s+(?!default\b|hand\b|mail\b|name\b|id\b|design\b|itself\b|\d)/i

/** Participles that describe a state in the field. */
const states = new Set(
  `allowed authenticated authorized based bound closed complicated configured connected deprecated detailed disabled done embedded empty
  enabled encrypted exposed expired finished fixed forbidden formed hidden installed interested known limited linked listed lost malformed named
  needed nested permitted prepared proven related required reserved set shared signed supported supposed trusted undefined unset unsigned
  unsupported untrusted unused unverified verified`.split(/\s+/),
)

/** Words that end in `ed`, as regular verbs do, but are none. */
const noVerbs = new Set('indeed red hundred need speed seed feed bed naked sacred biased ahead'.split(' '))

const irregular = new Set(
  `begun bound bought broken brought built cast caught chosen cut done drawn driven eaten fed felt fallen forbidden forgiven forgotten
  found frozen given grown held heard hidden hit kept known laid led left lent let lost made meant met mistaken overridden overwritten
  paid proven put read rebuilt redone reset rewritten run said seen sent set shaken shown shut sold sought spent split spoken spread
  stolen struck sworn taken taught thought thrown told torn undone understood unset withdrawn withheld woken won worn wound woven written`.split(
    /\s+/,
  ),
)

function isParticiple(word: string): boolean {
  return irregular.has(word) || (word.endsWith('ed') && !noVerbs.has(word))
}
