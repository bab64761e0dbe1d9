// Reads a stored message again from its raw bytes, and compares proofs and content with the record.
import type { NormalizedMessage, Part, System } from '@postern/message'
import { noLog } from '@postern/message'
import type { Channel, Intake, MessageRecord, Store, StoredArrival, Turn } from '@postern/pipeline'
import { findChannel, readVisibleIntake } from '@postern/pipeline'
import { compareJson } from './compare.ts'
import { openRecordedAnswers } from './recorded-answers.ts'
import type { ReplayChange } from './report.ts'

/** The clock and the answers of other hosts with which a message is read: the recorded ones, or the present ones. */
export type ReplayClock = 'then' | 'now'

export interface ReadAgainDeps {
  readonly store: Store
  readonly system: System
  readonly channels: readonly Channel[]
}

export interface ReadAgainResult {
  /** The intake; undefined if the message would not reach the agent. */
  readonly intake: Intake | undefined
  readonly proofs: readonly ReplayChange[]
  readonly message: readonly ReplayChange[]
}

interface ReadAgainRequest {
  readonly record: MessageRecord
  readonly storedArrival: StoredArrival
  readonly clock: ReplayClock
}

/** The assumed time from the first byte to the stored message if it was not recorded, ms. */
const assumedAdmissionMs = 60_000

/** Verifies, resolves and normalizes a stored message again, and compares the result with the stored one. @throws Rejection, Unavailable */
export async function readAgain(
  { record, storedArrival, clock }: ReadAgainRequest,
  deps: ReadAgainDeps,
): Promise<ReadAgainResult> {
  const channel = findChannel(deps.channels, record.message.received_via)
  const { arrival, raw, target } = storedArrival
  const agent = nameAgent(record)
  if (!channel?.diagnostics?.replay || arrival === undefined || !raw)
    return { intake: undefined, proofs: [], message: [] }
  const moment = openReplayContext(record, clock, deps)
  const replayedIntake = await channel.diagnostics.replay({ agent, arrival, raw, target }, moment)
  const intake = replayedIntake && readVisibleIntake(replayedIntake)
  const proofs = intake ? compareJson(record.proofs, intake.proofs) : []
  const [change] = await deps.store.listChanges([record.number])
  const recordedMessage = change?.how === 'edited' ? withFormerText(record, intake) : record
  return { intake, proofs, message: compareMessages(recordedMessage, intake) }
}

/** Reads the text from the raw bytes, because only they have the former text of an edited message. */
function withFormerText(record: MessageRecord, intake: Intake | undefined): MessageRecord {
  return intake ? { ...record, message: { ...record.message, parts: intake.message.parts } } : record
}

/** Returns the agent’s name, without `@` and domain. */
export function nameAgent({ message }: Pick<MessageRecord, 'message'>): string {
  return message.recipient.slice(1, message.recipient.lastIndexOf('@'))
}

/** Returns the turn of a message, without the channel’s target for the answer. */
export function turnOf(record: MessageRecord): Turn {
  const { number, thread, message, flags, correlation_id } = record
  return {
    ...{ message: number, thread, flags, token: 1, attempt: 1, crashes: 0, correlationId: correlation_id },
    ...{ agent: nameAgent(record), via: message.received_via, content: message, target: null },
  }
}

/** Returns true if the agent got the message. A message that the agent leaves without an answer is `ignored`, too. */
export function hasReachedAgent({ state, turn, merged_into }: MessageRecord): boolean {
  return state !== 'ignored' || turn !== undefined || merged_into !== undefined
}

function openReplayContext(record: MessageRecord, clock: ReplayClock, { store, system }: ReadAgainDeps) {
  const receivedAt = Date.parse(record.message.received_at)
  const until = record.trace?.admitted_at ?? receivedAt + assumedAdmissionMs
  const pastStore = createPastStore(store, { message: record.number, at: receivedAt })
  const silentSystem = silenceSystem(system)
  if (clock === 'now') return { system: silentSystem, store: pastStore }
  return { system: { ...silentSystem, ...openRecordedAnswers(store, until), now: () => receivedAt }, store: pastStore }
}

/** Prevents a system from logging, submitting mail, opening streams and changing anything. Logs of a replay would look like traffic. */
export function silenceSystem(system: System): System {
  return {
    ...system,
    openStream: undefined,
    configured: undefined,
    push: undefined,
    submitMail: async () => {
      throw new Error('a replay sends nothing')
    },
    fetch: async (url, request) => {
      if ((request?.method ?? 'GET') !== 'GET') throw new Error('a replay sends nothing')
      return system.fetch(url, request)
    },
    log: noLog,
  }
}

/** The flags that the store and admission rules add, which a replay does not run. */
const addedFlags: ReadonlySet<string> = new Set(['edited', 'deleted', 'loop_guard', 'blocked_by', 'forgotten'])

function compareMessages(record: MessageRecord, intake: Intake | undefined): readonly ReplayChange[] {
  if (!intake) return [{ path: '', before: record.message.id }]
  const recordedMessage = showMessage(record.message)
  const newMessage = showMessage({
    ...intake.message,
    parts: reuseFetchedFiles(intake.message.parts, record.message.parts),
  })
  const isKept = intake.disposition === 'keep'
  const recordedFlags = record.flags.filter(flag => !addedFlags.has(flag))
  const flags = [...new Set(intake.flags ?? [])]
  const hasReached = hasReachedAgent(record)
  const isMissing = (flag: string) => !flags.includes(flag) && hasReached
  return [
    ...compareJson(recordedMessage, newMessage),
    ...flags.filter(flag => !record.flags.includes(flag)).map(flag => ({ path: 'flags', after: flag })),
    ...recordedFlags.filter(isMissing).map(flag => ({ path: 'flags', before: flag })),
    ...(isKept && hasReached ? [{ path: 'disposition', before: 'answer', after: 'keep' }] : []),
  ]
}

/** Returns the members that the channel sets. The store sets the thread, and keeps raw bytes and history elsewhere. */
function showMessage({
  raw: _,
  history: _history,
  thread_id: _thread,
  thread_source: _source,
  ...shown
}: Partial<NormalizedMessage>): unknown {
  return shown
}

/** Reuses files that were fetched for the turn, instead of fetching them again. */
export function reuseFetchedFiles(parts: readonly Part[], storedParts: readonly Part[]): Part[] {
  return parts.map((part, index) => {
    const storedPart = storedParts[index]
    const isFetched = part.kind === 'file' && storedPart?.kind === 'file' && part.bytes_ref.kind === 'url'
    return isFetched && storedPart.bytes_ref.kind === 'content_addressed' && part.name === storedPart.name
      ? storedPart
      : part
  })
}

/** The moment at which the original message arrived. */
interface PastMoment {
  /** The number of the replayed message. Later messages did not exist yet. */
  readonly message: number
  /** The time of its arrival, ms. */
  readonly at: number
}

/** Matches the names of operations that only read. */
const readingOperationPattern = /^(find|read|list|count|has)/
/** The operations whose writes a replay can skip. */
const ignoredOperations: ReadonlySet<keyof Store> = new Set([
  'refuse',
  'noteLookup',
  'note',
  'storeInterimAnswer',
  'addBackground',
  'attachFiles',
  'storeStreamedAnswer',
  'noteAlone',
  'noteWaiting',
  'renew',
  'notify',
])

/**
 * Creates a view of the store at that moment, as far as the store still has the data. The view writes nothing. Operations with lasting effects
 * throw, so that a replay reports no answer that depends on such effects.
 */
export function createPastStore(store: Store, moment: PastMoment): Store {
  const restrictedMembers = Object.entries(store).map(
    ([name, member]) => [name, restrictOperation(name as keyof Store, member)] as const,
  )
  return { ...(Object.fromEntries(restrictedMembers) as unknown as Store), ...createPastReads(store, moment) }
}

function restrictOperation(name: keyof Store, member: unknown): unknown {
  if (typeof member !== 'function' || readingOperationPattern.test(name)) return member
  if (ignoredOperations.has(name)) return async () => undefined
  return async () => {
    throw new Error(`a replay changes nothing ("${name}")`)
  }
}

function createPastReads(store: Store, { message, at }: PastMoment): Partial<Store> {
  return {
    listen: () => () => {},
    consumeOnce: async () => true,
    openSecret: purpose => store.openSecret(purpose),
    readOrCreateSecret: async (name, make) =>
      (await store.hasSecret(name)) ? store.readOrCreateSecret(name, make) : make(),
    // A relation that the message itself began did not exist before it.
    async findRelation(key) {
      const relation = await store.findRelation(key)
      return relation && relation.since < at ? relation : undefined
    },
    listRelations: async filter => (await store.listRelations(filter)).filter(({ since }) => since < at),
    listPeerRelations: async peer => (await store.listPeerRelations(peer)).filter(({ since }) => since < at),
    async findMessageTo(agent, id) {
      const existingMessage = await store.findMessageTo(agent, id)
      return existingMessage && existingMessage.message < message ? existingMessage : undefined
    },
    async findResponse(id) {
      const storedResponse = await store.findResponse(id)
      return storedResponse && Date.parse(storedResponse.response.created_at) <= at ? storedResponse : undefined
    },
    findAnswer: async () => undefined,
  }
}
