import { Unavailable, Undeliverable } from '../../format/errors.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import { formatTurnId } from '../../ports/records/note.ts'
import type { Turn } from '../../ports/records/work.ts'
import type { NotedCall } from './call-notes.ts'
import { describeCallFailure, readCallAnswer } from './call-notes.ts'
import type { TurnNoteWriter } from './note-writer.ts'

/** The end of one call; the first report counts. */
export interface CallEnd {
  answered(answer: AgentCallAnswer): void
  failed(error: unknown): void
}

/** The calls of a turn that have no end yet. */
interface OpenCalls {
  /** @throws Undeliverable when the turn has ended; LeaseLost, Unavailable */
  begin(call: NotedCall): Promise<CallEnd>
  /** The turn has ended: every open call has failed. */
  end(): void
}

const afterTurn = 'Cannot call agent: the turn has ended'

export function createOpenCalls(turn: Turn, writer: TurnNoteWriter): OpenCalls {
  const openCalls = new Set<CallEnd>()
  let hasEnded = false

  async function begin(call: NotedCall): Promise<CallEnd> {
    if (hasEnded) throw new Undeliverable(afterTurn)
    const { name, worker, task, agentKey: agent_key } = call
    const call_id = `${formatTurnId(turn.message)}.${name}`
    writer.add(`call ${name}`, { type: 'delegation', worker, task, agent_key }, { call_id })
    const end: CallEnd = {
      answered: answer => finish(readCallAnswer(answer)),
      failed: error => finish(describeCallFailure(error)),
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
    if (hasEnded) throw new Undeliverable(afterTurn)
    return end
  }

  return {
    begin,
    end() {
      hasEnded = true
      for (const call of [...openCalls]) call.failed(new Unavailable('The turn ended before it answered'))
    },
  }
}
