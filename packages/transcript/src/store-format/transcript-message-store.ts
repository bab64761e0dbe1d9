// Implements the message store over the transcript, in which each location is a thread.
import { isoTime, type System } from '@postern/message'
import type { EntryBody } from '../entry/entry.ts'
import { formatUuidOf } from '../json/uuid.ts'
import type { EntryRange, TranscriptStore } from '../store/transcript-store.ts'
import { listClaimed } from '../store/transcript-store.ts'
import { storeCodec, storeTypeOfEntry } from './codec.ts'
import type { StoreMessage } from './message.ts'
import type { AgentViewOptions, MessageStore, TeamViewOptions, ViewOptions } from './message-store.ts'

interface MessageStoreDeps {
  readonly transcript: TranscriptStore
  readonly system: Pick<System, 'now' | 'randomBytes'>
  /** The owner of the locations. */
  readonly owner: string
}

const transport = 'store'

/** Creates the message store of one owner over the transcript, in which each location is a thread. */
export function createTranscriptMessageStore(deps: MessageStoreDeps): MessageStore {
  return {
    async listConversation(location, options = {}) {
      return writeView(await readView(location, { scopes: ['conversation'], ...readLimits(options) }, deps))
    },
    async listAgent(location, agent_key, options = {}) {
      return writeView(await readTypes(location, { scopes: ['agent'], agent_keys: [agent_key] }, options, deps))
    },
    async listGlobal(location, options = {}) {
      return writeView(await readView(location, { scopes: ['global'], ...readLimits(options) }, deps))
    },
    async listTeam(location, agent_keys, options = {}) {
      if (agent_keys.length === 0) return []
      return writeTeamView(await listTeam(location, agent_keys, options, deps))
    },
    add: (location, messages, agent_key) => addMessages(location, messages, agent_key, deps),
  }
}

async function addMessages(
  location: string,
  messages: Parameters<MessageStore['add']>[1],
  agent_key: string | undefined,
  { transcript, system, owner }: MessageStoreDeps,
): ReturnType<MessageStore['add']> {
  const parsed = messages.map(message => storeCodec.parse(message))
  const thread = await transcript.openThread(owner, { transport, key: location })
  const claimedEntries = await listClaimed(transcript, thread, storeCodec.listClaims(parsed))
  const recentEntries = await transcript.read(thread, { tail: recentCalls, kinds: pairedKinds })
  const entries = storeCodec.read(parsed, {
    thread_id: thread.thread_id,
    at: isoTime(system.now()),
    newId: () => formatUuidOf(system),
    agent_key,
    precedingEntries: recentEntries,
    find: id => claimedEntries.get(id),
  })
  return writeView(await transcript.append(thread, entries))
}

async function readView(
  key: string,
  range: EntryRange,
  { transcript, owner }: MessageStoreDeps,
): Promise<readonly EntryBody[]> {
  const thread = await transcript.findThread(owner, { transport, key })
  return thread ? await transcript.read(thread, range) : []
}

async function readTypes(
  location: string,
  range: EntryRange,
  options: AgentViewOptions,
  deps: MessageStoreDeps,
): Promise<readonly EntryBody[]> {
  if (!options.types) return await readView(location, { ...range, ...readLimits(options) }, deps)
  return limitList(filterTypes(await readView(location, range, deps), options), options)
}

async function listTeam(
  location: string,
  keys: readonly string[],
  options: TeamViewOptions,
  deps: MessageStoreDeps,
): Promise<readonly EntryBody[]> {
  const agent_keys = [...new Set(keys)]
  if (options.limit_scope !== 'per_agent') return await readTypes(location, { agent_keys }, options, deps)
  const entries = filterTypes(await readView(location, { agent_keys }, deps), options)
  const listAgentEntries = (key: string) => entries.filter(entry => entry.agent_key === key)
  const visibleEntries = new Set(agent_keys.flatMap(key => limitList(listAgentEntries(key), options)))
  return entries.filter(entry => visibleEntries.has(entry))
}

/** The number of entries among which an observation finds its action. */
const recentCalls = 64
const pairedKinds = ['tool_call', 'delegation', 'tool_result'] as const

/** Writes entries as stored messages, which always have a time. If the writer gave no time (no `native_at`), it is the time of storing. */
function writeView(entries: readonly EntryBody[]): readonly StoreMessage[] {
  return entries.flatMap(entry => {
    const timestamp = Date.parse(entry.at) / 1000
    return storeCodec.write([entry]).map(message => ({ timestamp, ...message }))
  })
}

/** Writes a team's messages, which always name their agent. */
function writeTeamView(entries: readonly EntryBody[]): readonly StoreMessage[] {
  return entries.flatMap(entry => {
    const { agent_key } = entry
    return writeView([entry]).map(message => (agent_key === undefined ? message : { ...message, agent_key }))
  })
}

/** Returns the limits of a view. In this format, a limit of 0 means no limit. */
function readLimits({ limit, tail }: ViewOptions): Pick<EntryRange, 'limit' | 'tail'> {
  return { ...(tail ? { tail } : limit ? { limit } : {}) }
}

function limitList<Item>(items: readonly Item[], { limit, tail }: ViewOptions): readonly Item[] {
  if (tail) return items.slice(Math.max(items.length - tail, 0))
  return limit ? items.slice(0, limit) : items
}

function filterTypes(entries: readonly EntryBody[], { types }: AgentViewOptions): readonly EntryBody[] {
  return types ? entries.filter(entry => types.includes(storeTypeOfEntry(entry))) : entries
}
