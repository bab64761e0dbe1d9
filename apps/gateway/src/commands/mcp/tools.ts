import type { ApiOperation } from '../../api/operation.ts'
import { doctorOperations } from '../doctor/operations.ts'
import { deliveryOperations, messageOperations, refusalOperations } from '../messages/operations.ts'
import { replayOperations } from '../replay/operations.ts'
import { simulationOperations } from '../send/operations.ts'
import { statusOperations } from '../status/operations.ts'
import { whyOperation } from '../why/operations.ts'

/** Operations of the operator's API that are tools, by the names of the tools. What a tool takes and says of itself is the operation's. */
export const mcpOperations: Readonly<Record<string, ApiOperation>> = {
  status: statusOperations.read,
  list_agents: statusOperations.agents,
  list_messages: messageOperations.list,
  show_message: messageOperations.find,
  why: whyOperation,
  replay_message: replayOperations.one,
  list_deliveries: deliveryOperations.list,
  change_delivery: deliveryOperations.change,
  list_refusals: refusalOperations.list,
  describe_test_traffic: simulationOperations.describe,
  send_test_message: simulationOperations.send,
  run_doctor: doctorOperations.run,
}
