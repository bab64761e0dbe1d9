// Describes the channels for the store, as functions and as SQL conditions.
import type { ChannelDescriptor, PersonAddress, SpeakerRules } from '@postern/pipeline'

/** The part of a channel's descriptor that the store needs. It has no functions. */
export interface StoredChannel
  extends Pick<ChannelDescriptor, 'name' | 'mentionRelay' | 'answersCalls' | 'repeatsForMs'> {
  readonly speaker: Pick<SpeakerRules, 'isChat' | 'isMailbox' | 'ignoresCase' | 'subjectScheme'>
}

/** Facts about channels from their descriptors, as functions and as SQL for the choice of rows. */
export interface ChannelFacts {
  readonly names: readonly string[]
  readonly chats: readonly string[]
  /** Returns true if scopes and local parts are compared regardless of case. */
  ignoresCase(via: string): boolean
  /** Returns true if addresses are mailboxes. */
  isMailbox(via: string): boolean
  /** Returns the time for which peers of the channel may repeat a message that was deleted here, ms. */
  repeatsForMs(via: string): number
  mentionRelayOf(via: string): StoredChannel['mentionRelay']
  /** Returns the principal of an address if the channel derives it from the address alone. */
  subjectOf(address: Pick<PersonAddress, 'via' | 'address'>): string | undefined
  readonly sql: {
    isChat(column: string): string
    isMailbox(column: string): string
    ignoresCase(column: string): string
    /** Returns a condition that every message belongs to its caller alone. */
    answersCalls(column: string): string
    /** Yields the same as `subjectOf`, or NULL if there is no subject. */
    subjectOf(via: string, address: string): string
  }
}

export function readChannelFacts(channels: readonly StoredChannel[]): ChannelFacts {
  const find = (via: string) => channels.find(({ name }) => name === via)
  const namesOf = (test: (channel: StoredChannel) => unknown) => channels.filter(test).map(({ name }) => name)
  const mailboxes = namesOf(({ speaker }) => speaker.isMailbox)
  const caseInsensitiveNames = namesOf(({ speaker }) => speaker.ignoresCase)
  const answeringNames = namesOf(({ answersCalls }) => answersCalls)
  const chats = namesOf(({ speaker }) => speaker.isChat)
  return {
    names: channels.map(({ name }) => name),
    chats,
    ignoresCase: via => caseInsensitiveNames.includes(via),
    isMailbox: via => mailboxes.includes(via),
    repeatsForMs: via => find(via)?.repeatsForMs ?? 0,
    mentionRelayOf: via => find(via)?.mentionRelay ?? { kind: 'none' },
    subjectOf({ via, address }) {
      const scheme = find(via)?.speaker.subjectScheme
      return scheme === undefined ? undefined : `${scheme}${address.slice(1).toLowerCase()}`
    },
    sql: {
      isChat: column => isAmong(column, chats),
      isMailbox: column => isAmong(column, mailboxes),
      ignoresCase: column => isAmong(column, caseInsensitiveNames),
      answersCalls: column => isAmong(column, answeringNames),
      subjectOf(via, address) {
        const cases = channels.flatMap(({ name, speaker: { subjectScheme } }) =>
          subjectScheme === undefined
            ? []
            : `WHEN ${via} = ${quoteSql(name)} THEN ${quoteSql(subjectScheme)} || substr(lower(${address}), 2)`,
        )
        return cases.length > 0 ? `CASE ${cases.join(' ')} END` : 'NULL'
      },
    },
  }
}

/** Compares a column with names. It uses `=` for a single one, which fits the partial index of one name. */
function isAmong(column: string, names: readonly string[]): string {
  if (names.length === 0) return '1 = 0'
  const [first = ''] = names
  return names.length === 1 ? `${column} = ${quoteSql(first)}` : `${column} IN (${names.map(quoteSql).join(', ')})`
}

function quoteSql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
