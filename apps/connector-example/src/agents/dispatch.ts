// Sends messages of a room to the agents that they mention, and shows their answers.
import type { Part } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { ConnectorConfig } from '../config.ts'
import type { ConnectorKeyRing } from '../issuer/key-ring.ts'
import type { HeldRequirement, OpenRequirements, RoomDecision } from '../rooms/requirements.ts'
import type { Room, Rooms } from '../rooms/rooms.ts'
import type { RoomPerson } from '../rooms/session.ts'
import type { AgentLine, LineSystem } from './agent-line.ts'
import { createPace } from './agent-line.ts'
import type { TakeSlots } from './agent-slots.ts'
import { createAgentSlots } from './agent-slots.ts'
import { closeRequirements, readAnswer, settleRequirement, showAnswer } from './show-answer.ts'
import type { TaskSeat, TaskSeats } from './task-book.ts'
import type { RoomTurn } from './turn.ts'
import { findMentions, renderMessage } from './turn.ts'

interface DispatchDeps {
  readonly config: ConnectorConfig
  readonly keys: ConnectorKeyRing
  readonly system: LineSystem
  readonly line: AgentLine
  readonly rooms: Rooms
  readonly requirements: OpenRequirements
  readonly tasks: TaskSeats
}

export interface Dispatch {
  /** Accepts a person's message: everybody in the room reads it, and the mentioned agents answer. */
  hear(room: Room, person: RoomPerson, text: string): void
  /** Accepts a person's decision on an agent's request. @throws Rejection */
  decide(room: Room, person: RoomPerson, button: Pick<RoomDecision, 'outcome'> & { readonly token: string }): void
  /** Reads a task that the agent has continued by itself, because somebody has decided elsewhere. @throws Unavailable, Undeliverable */
  refresh(seat: TaskSeat): Promise<void>
  /** Resolves when no call is in progress. */
  idle(): Promise<void>
}

/** The pause between two updates of a streamed answer, ms. */
const paceMs = 100

export function createDispatch(deps: DispatchDeps): Dispatch {
  const working: Working = { ...deps, takeSlots: createAgentSlots(deps.config), running: new Set() }
  const { config, requirements, rooms, tasks } = deps
  const { agentsPerMessage } = config.limits
  return {
    hear(room, person, text) {
      room.say({ author: { kind: 'person', ...person }, text })
      const matter = { room, person, left: agentsPerMessage }
      for (const address of findMentions(text, config.agentsDomain).slice(0, agentsPerMessage)) {
        send({ matter, address, text, speaker: person, hop: 0 }, working)
      }
    },
    decide(room, person, { token, outcome }) {
      const requirement = requirements.take(token, { room: room.name, person, outcome })
      const { address, taskId } = requirement
      const leave = takeOrPutBack(person, requirement, working)
      settleRequirement(requirement, 'sent', rooms)
      const seat = tasks.seat({ room: room.name, address, person, taskId })
      const matter = { room, person, left: agentsPerMessage }
      const text = outcome === 'granted' ? 'Agreed.' : 'No.'
      const decision = { requirement, outcome }
      start({ matter, address, text, speaker: person, hop: 0, seat, decision }, leave, working)
    },
    async refresh(seat) {
      if (seat.isBusy) return
      seat.isBusy = true
      try {
        await readAgain(seat, deps)
      } finally {
        seat.isBusy = false
      }
    },
    async idle() {
      while (working.running.size > 0) await Promise.all(working.running)
    },
  }
}

interface Working extends DispatchDeps {
  readonly takeSlots: TakeSlots
  /** The calls in progress. */
  readonly running: Set<Promise<void>>
}

/** Calls an agent, or explains in the room why it is not called. */
function send(turn: Omit<RoomTurn, 'seat'>, working: Working): void {
  const { config, tasks, system, takeSlots } = working
  const { matter, address, speaker } = turn
  if (address.endsWith(`@${new URL(config.origin).host}`)) return
  matter.left -= 1
  const { room, person } = matter
  try {
    const leave = takeSlots(person, address)
    start({ ...turn, seat: tasks.seat({ room: room.name, address, person: speaker }) }, leave, working)
  } catch (error) {
    const { id } = room.say({ author: { kind: 'agent', address }, text: '', state: 'failed' })
    room.change(id, { problem: describeFailure(error, system) })
  }
}

function start(turn: RoomTurn, leave: () => void, working: Working): void {
  const { running } = working
  const work = runTurn(turn, working).finally(() => {
    leave()
    running.delete(work)
  })
  running.add(work)
}

async function runTurn(turn: RoomTurn, working: Working): Promise<void> {
  const { config, keys, system, line, rooms, tasks } = working
  const { address, seat, decision } = turn
  const { room } = turn.matter
  const entry = room.say({ author: { kind: 'agent', address }, text: '', state: 'working' })
  const show = (soFar: () => readonly Part[]) => room.change(entry.id, { text: readAnswer(soFar()).text })
  const pace = createPace(show, { paceMs, system })
  try {
    const agent = await line.find(address)
    const configuration = tasks.configure(seat, agent)
    const message = renderMessage(turn, { config, keys, now: system.now })
    const answer = await line
      .call({ agent, message, taskId: seat.taskId, configuration, onPartialAnswer: pace.push })
      .finally(pace.stop)
    if (decision) settleRequirement(decision.requirement, decision.outcome, rooms)
    showAnswer(answer, { room, entryId: entry.id, origin: agent.origin, seat }, working)
    wake(turn, readAnswer(answer.parts).text, working)
  } catch (error) {
    room.change(entry.id, { state: 'failed', problem: describeFailure(error, system) })
    tasks.fail(seat)
    if (decision) keepDecision(decision.requirement, error, working)
  }
}

/** The agents that an answer names in its text, which is how agents are mentioned on our platform (MN-8.1, inline). */
function wake({ matter, address, hop }: RoomTurn, text: string, working: Working): void {
  const { limits, agentsDomain } = working.config
  if (hop >= limits.maxHops) return
  for (const next of findMentions(text, agentsDomain)) {
    if (next === address || matter.left <= 0) continue
    // The speaker's name, in a form that wakes no agent when it is quoted.
    const words = `${address.slice(1)} says:\n${text}`
    send({ matter, address: next, text: words, speaker: undefined, hop: hop + 1 }, working)
  }
}

async function readAgain(seat: TaskSeat, deps: DispatchDeps): Promise<void> {
  const { rooms, line, tasks } = deps
  const { address, taskId } = seat
  const room = rooms.find(seat.room)
  if (!room || taskId === undefined) return
  const agent = await line.find(address)
  const answer = await line.read(agent, taskId)
  if (!answer || !tasks.isNews(seat, answer)) return
  closeRequirements(room, seat.entryId)
  const entry = room.say({ author: { kind: 'agent', address }, text: '', state: 'working' })
  showAnswer(answer, { room, entryId: entry.id, origin: agent.origin, seat }, deps)
}

function takeOrPutBack(
  person: RoomPerson,
  requirement: HeldRequirement,
  { takeSlots, requirements }: Pick<Working, 'takeSlots' | 'requirements'>,
): () => void {
  try {
    return takeSlots(person, requirement.address)
  } catch (error) {
    requirements.putBack(requirement)
    throw error
  }
}

/** Keeps a decision that could not be delivered for a retry, and drops a refused one. */
function keepDecision(requirement: HeldRequirement, error: unknown, { requirements, rooms }: DispatchDeps): void {
  const isLost = error instanceof Unavailable
  if (isLost) requirements.putBack(requirement)
  settleRequirement(requirement, isLost ? 'open' : 'over', rooms)
}

/** Describes a failure in a text that everybody in the room may read. */
function describeFailure(error: unknown, { log }: Pick<LineSystem, 'log'>): string {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) {
    log.info({ err: error }, 'an agent could not be called')
    return error.message
  }
  log.error({ err: error }, 'a call failed')
  return 'Something went wrong here'
}
