import type { ApprovalCall, RequirementRecord } from '@postern/core'
import { isJsonObject, readApproval } from '@postern/core'
import type { PendingAction, RecordStore } from '@postern/transcript'
import { pendingActionSchema } from '@postern/transcript'
import { createArgumentCheck } from '../tools/arguments.ts'

/** The complete call of a requirement, from the record store, for whoever decides. */
export function createCallFinder(
  records: Pick<RecordStore, 'get'>,
): (requirement: Pick<RequirementRecord, 'agent' | 'policy'>) => Promise<ApprovalCall | undefined> {
  return async ({ agent, policy }) => {
    const shown = readApproval(policy)
    if (!shown) return undefined
    const place = { kind: 'pending-action', owner: `agent:${agent}`, key: shown.action_id }
    const action = pendingActionSchema.safeParse((await records.get(place))?.value).data
    if (!action) return undefined
    const schema = readSchema(action)
    return {
      id: shown.tool_call_id,
      tool: action.kind,
      ...(shown.agent !== undefined && { agent: shown.agent }),
      summary: action.summary,
      args: action.apply_input.args ?? {},
      ...(schema && { schema }),
      // The agent checks again before the run, by the tool's schema at that time.
      findFault: args => (schema ? createArgumentCheck(schema)(args) : 'they cannot be changed'),
    }
  }
}

function readSchema({ metadata: { schema } }: PendingAction): ApprovalCall['schema'] {
  return isJsonObject(schema) ? (schema as ApprovalCall['schema']) : undefined
}
