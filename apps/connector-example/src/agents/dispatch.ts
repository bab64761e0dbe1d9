// Sends messages of a room to the agents that they mention, and shows their answers.
import type { Part } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import type { OpenRequirements, PendingRequirement, RoomDecision } from '../rooms/requirements.ts'
import type { Room, Rooms } from '../rooms/rooms.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { AgentClient, ClientSystem } from './agent-client.ts'
import { createThrottle } from './agent-client.ts'
import type { AcquireSlots } from './agent-slots.ts'
import { createAgentSlots } from './agent-slots.ts'
import type { OpenTask, OpenTasks } from './open-tasks.ts'
import { closeRequirements, readAnswer, settleRequirement, showAnswer } from './show-answer.ts'
import type { RoomTurn } from './turn.ts'
import { findMentions, renderMessage } from './turn.ts'

interface DispatchDeps {
  readonly config: ConnectorConfig
  readonly keys: ConnectorKeyRing
  readonly system: ClientSystem
  readonly client: AgentClient
  readonly rooms: Rooms
  readonly requirements: OpenRequirements
  readonly tasks: OpenTasks
}

export interface Dispatch {
  /** Accepts a person's message: everybody in the room reads it, and the mentioned agents answer. */
  acceptMessage(room: Room, person: RoomPerson, text: string): void
  /** Accepts a person's decision on an agent's request. @throws Rejection */
  decide(room: Room, person: RoomPerson, decision: Pick<RoomDecision, 'outcome'> & { readonly token: string }): void
  /** Reads a task that the agent has continued by itself, because somebody has decided elsewhere. @throws Unavailable, Undeliverable */
  refreshTask(task: OpenTask): Promise<void>
  /** Resolves when no call is in progress. */
  whenIdle(): Promise<void>
}

/** The pause between two updates of a streamed answer, ms. */
const updateIntervalMs = 100

export function createDispatch(deps: DispatchDeps): Dispatch {
  const state: DispatchState = { ...deps, acquireSlots: createAgentSlots(deps.config), runningTurns: new Set() }
  const { config, requirements, rooms, tasks } = deps
  const { agentsPerMessage } = config.limits
  return {
    acceptMessage(room, person, text) {
      room.addEntry({ author: { kind: 'person', ...person }, text })
      const fanOut = { room, person, remainingCalls: agentsPerMessage }
      for (const address of findMentions(text, config.agentsDomain).slice(0, agentsPerMessage)) {
        callAgent({ fanOut, address, text, speaker: person, hop: 0 }, state)
      }
    },
    decide(room, person, { token, outcome }) {
      const requirement = requirements.consume(token, { room: room.name, person, outcome })
      const { address, taskId } = requirement
      const release = acquireSlotsOrRestore(person, requirement, state)
      settleRequirement(requirement, 'sent', rooms)
      const task = tasks.findOrCreate({ room: room.name, address, person, taskId })
      const fanOut = { room, person, remainingCalls: agentsPerMessage }
      const text = outcome === 'granted' ? 'Agreed.' : 'No.'
      const decision = { requirement, outcome }
      startTurn({ fanOut, address, text, speaker: person, hop: 0, task, decision }, release, state)
    },
    async refreshTask(task) {
      if (task.isBusy) return
      task.isBusy = true
      try {
        await reloadTask(task, deps)
      } finally {
        task.isBusy = false
      }
    },
    async whenIdle() {
      while (state.runningTurns.size > 0) await Promise.all(state.runningTurns)
    },
  }
}

interface DispatchState extends DispatchDeps {
  readonly acquireSlots: AcquireSlots
  /** The calls in progress. */
  readonly runningTurns: Set<Promise<void>>
}

/** Calls an agent, or explains in the room why it is not called. */
function callAgent(turn: Omit<RoomTurn, 'task'>, state: DispatchState): void {
  const { config, tasks, system, acquireSlots } = state
  const { fanOut, address, speaker } = turn
  if (address.endsWith(`@${new URL(config.origin).host}`)) return
  fanOut.remainingCalls -= 1
  const { room, person } = fanOut
  try {
    const release = acquireSlots(person, address)
    startTurn({ ...turn, task: tasks.findOrCreate({ room: room.name, address, person: speaker }) }, release, state)
  } catch (error) {
    const { id } = room.addEntry({ author: { kind: 'agent', address }, text: '', state: 'failed' })
    room.updateEntry(id, { problem: describeFailure(error, system) })
  }
}

function startTurn(turn: RoomTurn, release: () => void, state: DispatchState): void {
  const { runningTurns: running } = state
  const work = runTurn(turn, state).finally(() => {
    release()
    running.delete(work)
  })
  running.add(work)
}

async function runTurn(turn: RoomTurn, state: DispatchState): Promise<void> {
  const { config, keys, system, client, rooms, tasks } = state
  const { address, task, decision } = turn
  const { room } = turn.fanOut
  const entry = room.addEntry({ author: { kind: 'agent', address }, text: '', state: 'working' })
  const showPartial = (listParts: () => readonly Part[]) =>
    room.updateEntry(entry.id, { text: readAnswer(listParts()).text })
  const throttle = createThrottle(showPartial, { paceMs: updateIntervalMs, system })
  try {
    const agent = await client.findAgent(address)
    const configuration = tasks.configure(task, agent)
    const message = renderMessage(turn, { config, keys, now: system.now })
    const answer = await client
      .sendCall({ agent, message, taskId: task.taskId, configuration, onPartialAnswer: throttle.push })
      .finally(throttle.stop)
    if (decision) settleRequirement(decision.requirement, decision.outcome, rooms)
    showAnswer(answer, { room, entryId: entry.id, origin: agent.origin, task }, state)
    callMentionedAgents(turn, readAnswer(answer.parts).text, state)
  } catch (error) {
    room.updateEntry(entry.id, { state: 'failed', problem: describeFailure(error, system) })
    tasks.fail(task)
    if (decision) restoreOrCloseRequirement(decision.requirement, error, state)
  }
}

/** Calls the agents that an answer mentions in its text, because this platform mentions agents inline (MN-8.1). */
function callMentionedAgents({ fanOut, address, hop }: RoomTurn, text: string, state: DispatchState): void {
  const { limits, agentsDomain } = state.config
  if (hop >= limits.maxHops) return
  for (const mentionedAddress of findMentions(text, agentsDomain)) {
    if (mentionedAddress === address || fanOut.remainingCalls <= 0) continue
    // The speaker's name has no leading `@`, so that a quotation of this text mentions no agent.
    const quotedText = `${address.slice(1)} says:\n${text}`
    callAgent({ fanOut, address: mentionedAddress, text: quotedText, speaker: undefined, hop: hop + 1 }, state)
  }
}

async function reloadTask(task: OpenTask, deps: DispatchDeps): Promise<void> {
  const { rooms, client, tasks } = deps
  const { address, taskId } = task
  const room = rooms.findRoom(task.room)
  if (!room || taskId === undefined) return
  const agent = await client.findAgent(address)
  const answer = await client.readTask(agent, taskId)
  if (!answer || !tasks.isNewAnswer(task, answer)) return
  closeRequirements(room, task.entryId)
  const entry = room.addEntry({ author: { kind: 'agent', address }, text: '', state: 'working' })
  showAnswer(answer, { room, entryId: entry.id, origin: agent.origin, task }, deps)
}

function acquireSlotsOrRestore(
  person: RoomPerson,
  requirement: PendingRequirement,
  { acquireSlots, requirements }: Pick<DispatchState, 'acquireSlots' | 'requirements'>,
): () => void {
  try {
    return acquireSlots(person, requirement.address)
  } catch (error) {
    requirements.restore(requirement)
    throw error
  }
}

/** Keeps a decision that could not be delivered for a retry, and drops a refused one. */
function restoreOrCloseRequirement(
  requirement: PendingRequirement,
  error: unknown,
  { requirements, rooms }: DispatchDeps,
): void {
  const isRetryable = error instanceof Unavailable
  if (isRetryable) requirements.restore(requirement)
  settleRequirement(requirement, isRetryable ? 'open' : 'over', rooms)
}

/** Describes a failure in a text that everybody in the room may read. */
function describeFailure(error: unknown, { log }: Pick<ClientSystem, 'log'>): string {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) {
    log.info({ err: error }, 'an agent could not be called')
    return error.message
  }
  log.error({ err: error }, 'a call failed')
  return 'Something went wrong here'
}
