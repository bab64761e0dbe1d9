import type {
  Channel,
  Intake,
  MessageRecord,
  NormalizedMessage,
  Part,
  Platform,
  Store,
  StoredArrival,
  Turn,
} from '@postern/core'
import { findChannel } from '@postern/core'
import { noLog } from '../platform/platform.ts'
import { compareJson } from './compare.ts'
import { createPastLookups } from './lookups.ts'
import type { ReplayChange } from './report.ts'

/** The clock and the look-ups that a message is read with: those of then, or today's. */
export type ReplayClock = 'then' | 'now'

export interface ReadAgainDeps {
  readonly store: Store
  readonly platform: Platform
  readonly channels: readonly Channel[]
}

export interface ReadAgain {
  /** Undefined: the message would not reach the agent. */
  readonly intake: Intake | undefined
  readonly proofs: readonly ReplayChange[]
  readonly message: readonly ReplayChange[]
}

/** The gateway's own part of the time between the first byte and the stored message, where it was not noted, ms. */
const longestAdmissionMs = 60_000

/** verify → resolve → normalize of a stored message, and how it differs from what is stored. @throws Rejection, Unavailable */
export async function readAgain(
  record: MessageRecord,
  arrived: StoredArrival,
  clock: ReplayClock,
  deps: ReadAgainDeps,
): Promise<ReadAgain> {
  const channel = findChannel(deps.channels, record.message.received_via)
  const { arrival, raw, target } = arrived
  const agent = nameAgent(record)
  if (!channel?.replay || arrival === undefined || !raw) return { intake: undefined, proofs: [], message: [] }
  const moment = openMoment(record, clock, deps)
  const intake = await channel.replay({ agent, arrival, raw, target }, moment)
  const proofs = intake ? compareJson(record.proofs, intake.proofs) : []
  return { intake, proofs, message: compareMessages(record, intake) }
}

/** Without the `@` and the domain. */
export function nameAgent({ message }: Pick<MessageRecord, 'message'>): string {
  return message.recipient.slice(1, message.recipient.lastIndexOf('@'))
}

/** The turn of a message, without what its channel needs to answer. */
export function turnOf(record: MessageRecord): Turn {
  const { number, thread, message, flags, correlation_id } = record
  return {
    ...{ message: number, thread, flags, token: 1, attempt: 1, crashes: 0, correlationId: correlation_id },
    ...{ agent: nameAgent(record), via: message.received_via, content: message, target: null },
  }
}

/** Whether the agent saw it; an agent that says nothing leaves it `ignored`, too. */
export function wasGiven({ state, turn, merged_into }: MessageRecord): boolean {
  return state !== 'ignored' || turn !== undefined || merged_into !== undefined
}

function openMoment(record: MessageRecord, clock: ReplayClock, { store, platform }: ReadAgainDeps) {
  const at = Date.parse(record.message.received_at)
  const until = record.trace?.admitted_at ?? at + longestAdmissionMs
  const past = createPastStore(store, { message: record.number, at })
  const quiet = silence(platform)
  if (clock === 'now') return { platform: quiet, store: past }
  return { platform: { ...quiet, ...createPastLookups(store, until), now: () => at }, store: past }
}

/** What a replay logs would look like traffic; and it submits no mail and opens no stream. */
export function silence(platform: Platform): Platform {
  return {
    ...platform,
    openStream: undefined,
    submitMail: async () => {
      throw new Error('a replay sends nothing')
    },
    fetch: async (url, request) => {
      if ((request?.method ?? 'GET') !== 'GET') throw new Error('a replay sends nothing')
      return platform.fetch(url, request)
    },
    log: noLog,
  }
}

/** Added by the store and by the rules before it, which are not run again. */
const addedFlags: ReadonlySet<string> = new Set(['edited', 'deleted', 'loop_guard', 'blocked_by', 'forgotten'])

function compareMessages(record: MessageRecord, intake: Intake | undefined): readonly ReplayChange[] {
  if (!intake) return [{ path: '', before: record.message.id }]
  const before = showMessage(record.message)
  const after = showMessage({ ...intake.message, parts: adoptKept(intake.message.parts, record.message.parts) })
  const isKept = intake.disposition === 'keep'
  const known = record.flags.filter(flag => !addedFlags.has(flag))
  const flags = [...new Set(intake.flags ?? [])]
  const isGiven = wasGiven(record)
  const isMissing = (flag: string) => !flags.includes(flag) && isGiven
  return [
    ...compareJson(before, after),
    ...flags.filter(flag => !record.flags.includes(flag)).map(flag => ({ path: 'flags', after: flag })),
    ...known.filter(isMissing).map(flag => ({ path: 'flags', before: flag })),
    ...(isKept && isGiven ? [{ path: 'disposition', before: 'answer', after: 'keep' }] : []),
  ]
}

/** What the channel says of it: the store decides the thread, and keeps raw bytes and history apart. */
function showMessage({ raw: _, history: _history, thread_id: _thread, ...shown }: Partial<NormalizedMessage>): unknown {
  return shown
}

/** Files that were fetched for the turn are part of the message since then: they are not fetched again. */
export function adoptKept(parts: readonly Part[], stored: readonly Part[]): Part[] {
  return parts.map((part, at) => {
    const kept = stored[at]
    const isFetched = part.kind === 'file' && kept?.kind === 'file' && part.bytes_ref.kind === 'url'
    return isFetched && kept.bytes_ref.kind === 'content_addressed' && part.name === kept.name ? kept : part
  })
}

/** The moment that a replay looks from. */
interface PastMoment {
  /** The number of the message that is replayed: later ones were not there. */
  readonly message: number
  /** When it came, ms. */
  readonly at: number
}

/** Members that only read, by the words of our ports. */
const reads = /^(find|read|list|count|has|knows)/
/** What they write nobody misses when it is not written. */
const ignored: ReadonlySet<keyof Store> = new Set([
  'refuse',
  'noteLookup',
  'note',
  'say',
  'addBackground',
  'keepFiles',
  'keepStreamed',
  'noteWaiting',
  'renew',
  'notify',
])

/**
 * The store as it was, as far as it keeps that: what came later is left out. It writes nothing. What would change something for good throws, so that
 * no answer is taken for one that could be given.
 */
export function createPastStore(store: Store, moment: PastMoment): Store {
  const members = Object.entries(store).map(([name, member]) => [name, treat(name as keyof Store, member)] as const)
  return { ...(Object.fromEntries(members) as unknown as Store), ...createBounded(store, moment) }
}

function treat(name: keyof Store, member: unknown): unknown {
  if (typeof member !== 'function' || reads.test(name)) return member
  if (ignored.has(name)) return async () => undefined
  return async () => {
    throw new Error(`a replay changes nothing ("${name}")`)
  }
}

function createBounded(store: Store, { message, at }: PastMoment): Partial<Store> {
  return {
    listen: () => () => {},
    consumeOnce: async () => true,
    secret: async (name, make) => ((await store.hasSecret(name)) ? store.secret(name, make) : make()),
    // What the message itself began was not there before it.
    async findRelation(key) {
      const found = await store.findRelation(key)
      return found && found.since < at ? found : undefined
    },
    listRelations: async filter => (await store.listRelations(filter)).filter(({ since }) => since < at),
    async findMessageTo(agent, id) {
      const found = await store.findMessageTo(agent, id)
      return found && found.message < message ? found : undefined
    },
    async findResponse(id) {
      const found = await store.findResponse(id)
      return found && Date.parse(found.response.created_at) <= at ? found : undefined
    },
    findAnswer: async () => undefined,
  }
}
