import type { OperatorDesk } from '@postern/core'
import type { StoreDesk } from '@postern/store'
import type { ThreadKey } from '@postern/transcript'

/** Whose the threads are that an operator opens over conversations of the desk. */
const operatorOwner = 'operator'

/** The conversation that a message is part of, by its number or its id. */
export async function findConversation(
  name: string,
  { findMessage, transcript }: Pick<OperatorDesk, 'findMessage'> & Pick<StoreDesk, 'transcript'>,
): Promise<ThreadKey | undefined> {
  const record = await findMessage(name)
  if (!record) return undefined
  const thread = await transcript.openThread(operatorOwner, { transport: 'desk', key: String(record.thread) })
  await transcript.bindDesk(thread, record.thread)
  return thread
}
