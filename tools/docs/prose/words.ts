// Finds words that the project avoids, and names their replacements.
/** A word that the project avoids, and its replacement. */
interface BannedWord {
  readonly pattern: RegExp
  readonly fix: string
}

const word = (source: string, fix: string): BannedWord => ({ pattern: new RegExp(`\\b(?:${source})\\b`, 'i'), fix })

/** Metaphors, former names in the project, and words that are no plain English. */
const bannedWords: readonly BannedWord[] = [
  word('he|him|his|himself', 'say "they", "you", or the noun again'),
  word('he or she|she', 'say "they", "you", or the noun again'),
  word('house(?!hold)|houses', 'say "gateway" or "context"'),
  // The word is allowed for a chat room.
  word(
    '(?:no|more|enough|makes?|leaves?|has|have) room|room (?:for|to|left)|(?<!chat[ -])rooms(?= of)',
    'say "quota", "capacity" or "space"',
  ),
  word('doors?|doorways?', 'say "endpoint"'),
  word('desks?(?!top)', 'say "store"; write the name of an agent as code'),
  word('(?<!double[ -])knock(?:s|ed|ing)?(?! twice)', 'say "incoming call" or "request"'),
  word('shelf|shelves', 'say "store" or "cache"'),
  word('ways? in|ways? out|by way of|by the way|on the way|in the way', 'say "channel", "endpoint" or "by"'),
  word('lanes?', 'say "worker pool", "queue mode" or "destination order"'),
  word('fates?', 'say "outcome" or "disposition"'),
  word('deeds?', 'say "action"'),
  word('halls?', 'say "swarm clients"'),
  word('demands?(?! for)|demanded', 'say "requirement" or "require"'),
  word('outposts?', 'say "publisher"'),
  word('occasions?', 'say "synthetic message" or "case"'),
  word('turnstiles?', 'say "semaphore"'),
  word('residues?', 'say "lossless diff"'),
  word('acquaintances?', 'say "sender history" or "recipient"'),
  word('siblings?', 'say "local agent"'),
  word('vouch(?:es|ed|ing)?', 'say "evidence", "attest" or "confirm"'),
  word('silenc(?:es|ed|ing)', 'say "block"'),
  word('mend(?:s|ed|ing)?', 'say "fix"'),
  word('seams?', 'say "interface" or "port"'),
  word('outcry|breathes?|swift', 'say what happens'),
  word('(?:simulated |small |local |whole )worlds?', 'say "simulation"'),
  word(
    'whereby|thereof|therein|thereby|herein|hereby|wherein|hence|thence|whence|hitherto|lest|thither|whither|thereupon|shall|ought|whosoever|whomever',
    'use a plain word',
  ),
  word('utili[sz]e[sd]?|leverage[sd]?|seamless(?:ly)?|effortless(?:ly)?|blazing(?:ly)?', 'use a plain word'),
]

/** Finds the first avoided word of a text, and its replacement. Words in quotation marks do not count. */
export function findBannedWord(text: string): { readonly words: string; readonly fix: string } | undefined {
  for (const { pattern, fix } of bannedWords) {
    const words = pattern.exec(dropQuotations(text))?.[0]
    if (words !== undefined) return { words, fix }
  }
  return undefined
}

export function dropQuotations(text: string): string {
  return text.replace(/"[^"]*"|“[^”]*”/g, '"…"')
}
