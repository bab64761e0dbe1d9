import type { ApprovalCall, DemandRecord, Json } from '@postern/core'
import { readApproval } from '@postern/core'
import type { PendingAction, RecordShelf } from '@postern/transcript'
import { pendingActionSchema } from '@postern/transcript'
import { z } from 'zod'

/** A call on the shelf as a demand names it: whole, for whoever has to allow it. */
export function createCallFinder(
  shelf: Pick<RecordShelf, 'get'>,
): (demand: Pick<DemandRecord, 'agent' | 'policy'>) => Promise<ApprovalCall | undefined> {
  return async ({ agent, policy }) => {
    const shown = readApproval(policy)
    if (!shown) return undefined
    const place = { kind: 'pending-action', owner: `agent:${agent}`, key: shown.action_id }
    const action = pendingActionSchema.safeParse((await shelf.get(place))?.value).data
    if (!action) return undefined
    const schema = readSchema(action)
    return {
      id: shown.tool_call_id,
      tool: action.kind,
      ...(shown.agent !== undefined && { agent: shown.agent }),
      summary: action.summary,
      args: action.apply_input.args ?? {},
      ...(schema && { schema }),
      findFault: args => findArgumentFault(schema, args),
    }
  }
}

function readSchema({ metadata: { schema } }: PendingAction): ApprovalCall['schema'] {
  const isMap = typeof schema === 'object' && schema !== null && !Array.isArray(schema)
  return isMap ? (schema as { readonly [keyword: string]: Json }) : undefined
}

/** The agent looks again before it runs, by the schema the tool has then. */
function findArgumentFault(schema: ApprovalCall['schema'], args: unknown): string | undefined {
  if (!schema) return 'they cannot be changed'
  const { error } = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(args)
  const [issue] = error?.issues ?? []
  return issue && `${issue.path.join('.') || 'arguments'}: ${issue.message}`
}
