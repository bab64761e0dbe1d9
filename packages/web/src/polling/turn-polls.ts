// Polls the turns that clients follow, because notices may get lost.
import type { System } from '@postern/message'

/** The polls of all followed turns. */
export interface TurnPolls {
  /** Calls a function after a second and then every five seconds, until the returned function is called. */
  add(poll: () => void): () => void
}

/** The period of the one timer that serves all turns, ms. A timer for each turn would cost more than the poll that it never begins. */
const tickMs = 250
const [firstPollTicks, pollTicks] = [4, 20]

interface Poll {
  readonly run: () => void
  ticksLeft: number
}

/** Creates the polls of one gateway. They end when the gateway shuts down. */
export function createTurnPolls(system: Pick<System, 'sleep'>, shutdownSignal: AbortSignal): TurnPolls {
  const polls = new Set<Poll>()
  let isTicking = false

  async function runTicks(): Promise<void> {
    if (isTicking) return
    isTicking = true
    while (polls.size > 0 && !shutdownSignal.aborted) {
      await system.sleep(tickMs, shutdownSignal)
      for (const poll of polls) tick(poll)
    }
    isTicking = false
  }

  return {
    add(run) {
      const poll: Poll = { run, ticksLeft: firstPollTicks }
      polls.add(poll)
      void runTicks()
      return () => void polls.delete(poll)
    },
  }
}

function tick(poll: Poll): void {
  poll.ticksLeft -= 1
  if (poll.ticksLeft > 0) return
  poll.ticksLeft = pollTicks
  poll.run()
}
