import type { AdmitMessage } from './admit-message.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'
import { listenerKeyOf } from './subscribe-to-task.ts'

/** SendStreamingMessage (A2A §3.1.2): admits the message durably, then streams the task from its submission until it is at rest. */
export function createSendStreamingMessage({ feeds }: A2aOperationDeps, admit: AdmitMessage): A2aOperation {
  return async call => {
    const { message, task, params } = await admit(call)
    return feeds.open({
      key: task,
      listenerKey: listenerKeyOf(call),
      canReplay: call.canReplay,
      messages: [message],
      isOwn: true,
      view: { historyLength: params.configuration?.historyLength ?? 0, includeArtifacts: true },
    })
  }
}
