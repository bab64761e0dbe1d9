// Describes the channels for the store, as functions and as SQL conditions.
import type { ChannelDescriptor, PersonAddress, SpeakerRules } from '@postern/pipeline'

/** The part of a channel's descriptor that the store needs. It has no functions. */
export interface StoredChannel
  extends Pick<ChannelDescriptor, 'name' | 'mentionRelay' | 'answersCalls' | 'repeatsForMs'> {
  readonly speaker: Pick<SpeakerRules, 'isChat' | 'isMailbox' | 'ignoresCase' | 'subjectScheme'>
}

/** The facts about channels that the store reads from their descriptors, as functions and as SQL conditions on a column. */
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
  formatSubject(address: Pick<PersonAddress, 'via' | 'address'>): string | undefined
  readonly sql: {
    chatCondition(column: string): string
    mailboxCondition(column: string): string
    caseInsensitiveCondition(column: string): string
    /** Returns the condition that the channel answers a message only to its caller. */
    callAnsweringCondition(column: string): string
    /** Returns an expression for the result of `formatSubject`, or for NULL if there is no subject. */
    subjectExpression(via: string, address: string): string
  }
}

export function readChannelFacts(channels: readonly StoredChannel[]): ChannelFacts {
  const findChannel = (via: string) => channels.find(({ name }) => name === via)
  const listNames = (predicate: (channel: StoredChannel) => unknown) =>
    channels.filter(predicate).map(({ name }) => name)
  const mailboxes = listNames(({ speaker }) => speaker.isMailbox)
  const caseInsensitiveNames = listNames(({ speaker }) => speaker.ignoresCase)
  const answeringNames = listNames(({ answersCalls }) => answersCalls)
  const chats = listNames(({ speaker }) => speaker.isChat)
  return {
    names: channels.map(({ name }) => name),
    chats,
    ignoresCase: via => caseInsensitiveNames.includes(via),
    isMailbox: via => mailboxes.includes(via),
    repeatsForMs: via => findChannel(via)?.repeatsForMs ?? 0,
    mentionRelayOf: via => findChannel(via)?.mentionRelay ?? { kind: 'none' },
    formatSubject({ via, address }) {
      const scheme = findChannel(via)?.speaker.subjectScheme
      return scheme === undefined ? undefined : `${scheme}${address.slice(1).toLowerCase()}`
    },
    sql: {
      chatCondition: column => amongCondition(column, chats),
      mailboxCondition: column => amongCondition(column, mailboxes),
      caseInsensitiveCondition: column => amongCondition(column, caseInsensitiveNames),
      callAnsweringCondition: column => amongCondition(column, answeringNames),
      subjectExpression(via, address) {
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

/** Returns the condition that a column has one of the names. For a single name it uses `=`, which matches the partial index for that name. */
function amongCondition(column: string, names: readonly string[]): string {
  if (names.length === 0) return '1 = 0'
  const [firstName = ''] = names
  return names.length === 1 ? `${column} = ${quoteSql(firstName)}` : `${column} IN (${names.map(quoteSql).join(', ')})`
}

function quoteSql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
