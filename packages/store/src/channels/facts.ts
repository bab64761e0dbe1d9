import type { ChannelDescriptor, PersonAddress, SpeakerRules } from '@postern/core'

/** What the store is told of a channel: the part of its descriptor that is no function. */
export interface StoredChannel extends Pick<ChannelDescriptor, 'name' | 'mentionRelay' | 'answersCalls'> {
  readonly speaker: Pick<SpeakerRules, 'isChat' | 'isMailbox' | 'ignoresCase' | 'subjectScheme'>
}

/** What the store has to know of channels: from their descriptors, as SQL where rows are chosen by it. */
export interface ChannelFacts {
  readonly names: readonly string[]
  readonly chats: readonly string[]
  /** Scopes and local parts that differ in upper and lower case are the same. */
  ignoresCase(via: string): boolean
  /** Addresses are mailboxes. */
  isMailbox(via: string): boolean
  mentionRelayOf(via: string): StoredChannel['mentionRelay']
  /** The principal of an address, where the channel makes it of the address alone. */
  subjectOf(address: Pick<PersonAddress, 'via' | 'address'>): string | undefined
  readonly sql: {
    isChat(column: string): string
    isMailbox(column: string): string
    ignoresCase(column: string): string
    /** Every message is its caller's own. */
    answersCalls(column: string): string
    /** As `subjectOf`; else NULL. */
    subjectOf(via: string, address: string): string
  }
}

export function readChannelFacts(channels: readonly StoredChannel[]): ChannelFacts {
  const find = (via: string) => channels.find(({ name }) => name === via)
  const namesOf = (test: (channel: StoredChannel) => unknown) => channels.filter(test).map(({ name }) => name)
  const mailboxes = namesOf(({ speaker }) => speaker.isMailbox)
  const caseless = namesOf(({ speaker }) => speaker.ignoresCase)
  const answering = namesOf(({ answersCalls }) => answersCalls)
  const chats = namesOf(({ speaker }) => speaker.isChat)
  return {
    names: channels.map(({ name }) => name),
    chats,
    ignoresCase: via => caseless.includes(via),
    isMailbox: via => mailboxes.includes(via),
    mentionRelayOf: via => find(via)?.mentionRelay ?? { kind: 'none' },
    subjectOf({ via, address }) {
      const scheme = find(via)?.speaker.subjectScheme
      return scheme === undefined ? undefined : `${scheme}${address.slice(1).toLowerCase()}`
    },
    sql: {
      isChat: column => isAmong(column, chats),
      isMailbox: column => isAmong(column, mailboxes),
      ignoresCase: column => isAmong(column, caseless),
      answersCalls: column => isAmong(column, answering),
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

/** `=` where there is one: it fits the partial index of one name. */
function isAmong(column: string, names: readonly string[]): string {
  if (names.length === 0) return '1 = 0'
  const [first = ''] = names
  return names.length === 1 ? `${column} = ${quoteSql(first)}` : `${column} IN (${names.map(quoteSql).join(', ')})`
}

function quoteSql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
