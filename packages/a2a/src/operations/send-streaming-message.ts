import type { AdmitMessage } from './admit-message.ts'
import type { Operation, Rooms } from './operation.ts'
import { listenerKeyOf } from './subscribe-to-task.ts'

/** SendStreamingMessage (A2A §3.1.2): admitted durably, then told from the task as it was submitted to the end of its turn. */
export function createSendStreamingMessage({ feeds }: Rooms, admit: AdmitMessage): Operation {
  return async call => {
    const { message, task, params } = await admit(call)
    return feeds.open({
      key: task,
      listenerKey: listenerKeyOf(call),
      canReplay: call.canReplay,
      messages: [message],
      own: { message, messageId: params.message.messageId },
      view: { historyLength: params.configuration?.historyLength ?? 0, includeArtifacts: true },
    })
  }
}
