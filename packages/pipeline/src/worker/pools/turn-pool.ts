// Creates the pool of turns.
import type { Turn } from '../../ports/records/work/turn.ts'
import type { TurnConsumer, TurnTicket } from '../../ports/store/work-store.ts'
import { runTurn } from '../../turn/turn.ts'
import { TurnIsolation } from '../turns/turn-isolation.ts'
import { waitForMessage } from '../turns/wait-for-message.ts'
import { createWaitingTurns } from '../turns/waiting-turns.ts'
import type { PoolDeps } from './pool-deps.ts'
import { createConsumer, leaseWork, readPoolOptions } from './pool-deps.ts'
import type { WorkPool } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

interface TurnPool {
  readonly turns: WorkPool<Turn, TurnTicket>
  /** Counts the running turns of an agent, except those that wait for another agent. */
  countTurns(agent: string): number
}

/** Creates the pool of turns, and makes it the consumer of the store's turns. */
export function createTurnPool(deps: PoolDeps): TurnPool {
  const { turnContext, results, options, abandonSignal, lostLeases } = deps
  const { store } = turnContext
  const { turnSlots, turnsPerAgent, turnsOf, turnsElsewhere = () => 0 } = options
  const turnsInCall = new Set<Turn>()
  // More turns may wait than run, because a waiting turn uses no slot.
  const waiting = createWaitingTurns(4 * turnSlots, (turn, isWaiting) => {
    if (isWaiting) turnsInCall.add(turn)
    else turnsInCall.delete(turn)
    // It is only a hint: a worker that misses it runs one turn fewer for a while.
    const note = () => store.noteWaiting(turn, isWaiting)
    void (turn.whenStored?.then(note) ?? note()).catch(() => undefined)
    isolation.noteChange()
    turns.wake()
  })
  const isolation = new TurnIsolation({
    ...{ system: deps.system, abandonSignal },
    isSuspect: ({ crashes }) => crashes > 0 && crashes < turnContext.maxCrashes,
    isWaiting: turn => turnsInCall.has(turn),
    noteAlone: turn => store.noteAlone(turn),
    onOpen: () => turns.wake(),
  })
  function onAnswered(turn: Turn): void {
    // An agent with one turn at a time keeps its slot, so that its next turn finds the stored result of this one.
    if (maxTurnsOf(turn.agent) > 1) turns.freeSlot(turn)
  }
  const workContext = { ...turnContext, results, waitingTurns: waiting, onAnswered }
  const contextOf = ({ whenStored: stored }: Turn) => (stored ? waitForMessage(workContext, stored) : workContext)
  const turnLimits = { maxPerGroup: turnsPerAgent, maxByGroup: turnsOf }
  const maxTurnsOf = (agent: string) => turnsOf?.get(agent) ?? turnsPerAgent
  const turns: WorkPool<Turn, TurnTicket> = createWorkPool<Turn, TurnTicket>({
    ...readPoolOptions(deps),
    slots: turnSlots,
    isWaiting: turn => turnsInCall.has(turn) || isolation.isQueued(turn),
    groupOf: turn => turn.agent,
    groupSlots: agent => Math.max(0, maxTurnsOf(agent) - turnsElsewhere(agent)),
    lease: async (limit, usedByGroup) =>
      isolation.isClosed
        ? []
        : leaseWork(
            deps,
            request => store.leaseTurns({ ...request, consumer, shares: { ...turnLimits, usedByGroup } }),
            limit,
          ),
    run: turn => isolation.run(turn, () => lostLeases.run(turn, signal => runTurn(turn, contextOf(turn), signal))),
  })
  const hasCapacity: TurnConsumer['hasCapacity'] = ticket => !isolation.isClosed && turns.hasCapacity(ticket)
  const continuesAdmission: TurnConsumer['continuesAdmission'] = ({ agent }) =>
    turnContext.findAgent(agent)?.continuesAdmission === true
  const consumer = { ...createConsumer(turns, options, turnLimits), hasCapacity, continuesAdmission }
  store.setTurnConsumer?.(consumer)
  const countTurns = (agent: string) =>
    [...turns.running.keys()].filter(turn => turn.agent === agent && !turnsInCall.has(turn)).length
  return { turns, countTurns }
}
