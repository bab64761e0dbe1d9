// Records the calls of a turn to other agents until each of them ends.
import { Unavailable, Undeliverable } from '@postern/message'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work/turn.ts'
import type { NotedCall } from './call-notes.ts'
import { describeCallFailure, readCallAnswer } from './call-notes.ts'
import type { TurnNoteWriter } from './note-writer.ts'

/** The functions that report the end of one call. Only the first report counts. */
export interface CallEnd {
  recordAnswer(answer: AgentCallAnswer): void
  recordFailure(error: unknown): void
}

const turnEndedMessage = 'Cannot call agent: the turn has ended'

/** Creates the record of the unfinished calls of a turn. */
export function createOpenCalls(turn: Turn, writer: TurnNoteWriter) {
  const openCalls = new Set<CallEnd>()
  let hasEnded = false

  /** Records the beginning of a call. @throws Undeliverable if the turn has ended; LeaseLost, Unavailable */
  async function begin(call: NotedCall): Promise<CallEnd> {
    if (hasEnded) throw new Undeliverable(turnEndedMessage)
    const { name, worker, task, agentKey: agent_key } = call
    const call_id = `${formatTurnId(turn.message)}.${name}`
    writer.add(`call ${name}`, { type: 'delegation', worker, task, agent_key }, { call_id })
    const end: CallEnd = {
      recordAnswer: answer => finish(readCallAnswer(answer)),
      recordFailure: error => finish(describeCallFailure(error)),
    }
    function finish({ content, error }: ReturnType<typeof readCallAnswer>): void {
      if (!openCalls.delete(end)) return
      writer.add(`end ${name}`, { type: 'observation', content, agent_key }, { call_id, tool: 'delegate', error })
      if (!call.isBroadcast || error) return
      writer.add(`told ${name}`, { type: 'global_observation', content, from_worker: worker }, { call_id })
    }
    openCalls.add(end)
    await writer.flush()
    // The turn ended during the write.
    if (hasEnded) throw new Undeliverable(turnEndedMessage)
    return end
  }

  return {
    begin,
    /** Fails every open call, because the turn has ended. */
    end() {
      hasEnded = true
      for (const call of [...openCalls]) call.recordFailure(new Unavailable('The turn ended before it answered'))
    },
  }
}
