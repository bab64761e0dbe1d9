// Stores the rows of a client and selects those for an agent's model.
import { isoTime, Unavailable } from '@postern/message'
import type { SwarmMessage, ThreadKey, TranscriptEntry, TranscriptStore } from '@postern/transcript'
import { formatUuidOf, repairPairs, splitMessages, swarmCodec, viewEntries } from '@postern/transcript'
import type { BusEvent } from '../bus/bus.ts'
import type { AgentSpec, SwarmDeps } from '../spec/swarm.ts'

const transport = 'swarm'

/** The rows of one client. */
export interface SwarmHistory {
  readonly thread: ThreadKey
  /** Stores a row and then emits its event. @throws Rejection malformed, or the store's error, after which nothing is emitted */
  push(row: SwarmMessage): Promise<void>
  /**
   * Removes and returns the last row with its calls on behalf of `agentName`, or `null` if there is no row. @throws Unavailable while another writer
   * locks the thread, or the store's error, after which nothing is emitted
   */
  pop(agentName: string): Promise<SwarmMessage | null>
  /** Lists all rows, unfiltered. */
  listRaw(): Promise<readonly SwarmMessage[]>
  listUser(): Promise<readonly SwarmMessage[]>
  listAssistant(): Promise<readonly SwarmMessage[]>
  /** Lists the messages for this agent's model. */
  listForAgent(agent: AgentSpec, commonPrompts: readonly string[]): Promise<readonly SwarmMessage[]>
}

export async function openSwarmHistory(deps: SwarmDeps, swarmName: string, clientId: string): Promise<SwarmHistory> {
  const { transcript, system, bus, owner } = deps
  const thread = await transcript.openThread(owner, { transport, key: clientId })

  async function listRaw(): Promise<readonly SwarmMessage[]> {
    return swarmCodec.write(await transcript.read(thread), { marker: 'none' })
  }

  function emit(type: 'push' | 'pop', agentName: string, details: Partial<Pick<BusEvent, 'input' | 'output'>>): void {
    bus.emit({ type, source: 'history-bus', clientId, context: { agentName, swarmName }, ...details })
  }

  return {
    thread,
    async push(row) {
      const precedingEntries = row.role === 'tool' ? await transcript.read(thread, { tail: 64 }) : []
      const entries = swarmCodec.read([row], {
        thread_id: thread.thread_id,
        at: isoTime(system.now()),
        newId: () => formatUuidOf(system),
        precedingEntries,
      })
      await transcript.append(thread, entries)
      emit('push', row.agentName, { input: { message: swarmCodec.parse(row) } })
    },
    async pop(agentName) {
      const value = await popLastRow(transcript, thread)
      emit('pop', agentName, { output: { value } })
      return value
    },
    listRaw,
    async listUser() {
      return (await listRaw()).filter(({ role, mode }) => role === 'user' && mode === 'user')
    },
    async listAssistant() {
      return (await listRaw()).filter(({ role }) => role === 'assistant')
    },
    async listForAgent(agent, commonPrompts) {
      return buildModelHistory(await transcript.read(thread), agent, commonPrompts)
    },
  }
}

/** The longest time for removing one row, ms. */
const popLockMs = 30_000

async function popLastRow(transcript: TranscriptStore, thread: ThreadKey): Promise<SwarmMessage | null> {
  const lock = await transcript.acquireLock(thread, popLockMs)
  if (!lock) throw new Unavailable('Cannot take row: transcript_lock_contention')
  try {
    const entries = await transcript.read(thread)
    const last = splitMessages(entries).at(-1)
    if (!last) return null
    const [value = null] = swarmCodec.write(last, { marker: 'none' })
    await transcript.replace(thread, entries.slice(0, entries.length - last.length), { token: lock.token })
    return value
  } finally {
    await transcript.releaseLock(thread, lock.token)
  }
}

/**
 * Selects the messages for a model. They begin with the prompts and the agent's own system rows. The newest messages since the last flush or rescue
 * follow, if they are shared or the agent's own. Incomplete pairs are omitted.
 */
function buildModelHistory(
  entries: readonly TranscriptEntry[],
  {
    agentName,
    prompt,
    systemPrompts = [],
    keepMessages = 15,
  }: Pick<AgentSpec, 'agentName' | 'prompt' | 'systemPrompts' | 'keepMessages'>,
  commonPrompts: readonly string[],
): readonly SwarmMessage[] {
  const visibleEntries = viewEntries(entries, { scope: { kind: 'swarm', agent_key: agentName }, pairs: 'keep' })
  const isPromptEntry = ({ kind, native_role }: TranscriptEntry) => kind === 'system' && native_role === undefined
  const messages = splitMessages(visibleEntries.filter(entry => !isPromptEntry(entry)))
  const recentMessages = repairPairs(messages.slice(Math.max(messages.length - keepMessages, 0)).flat())
  const prompts = [prompt, ...commonPrompts, ...systemPrompts].filter(content => content !== '')
  return [
    ...prompts.map((content): SwarmMessage => ({ role: 'system', agentName, content, mode: 'tool' })),
    ...swarmCodec.write(visibleEntries.filter(isPromptEntry), { marker: 'none' }),
    ...swarmCodec.write(recentMessages, { marker: 'none' }),
  ]
}
