import { randomUUID } from 'node:crypto'
import type { Part, SendMessageRequest } from '@a2a-js/sdk'
import { Role } from '@a2a-js/sdk'

interface MessagePlace {
  readonly messageId?: string | undefined
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
}

/** A user's text as the request of the official client. */
export function describeSendRequest(
  text: string,
  { messageId = randomUUID(), contextId = '', taskId = '' }: MessagePlace = {},
): SendMessageRequest {
  return {
    tenant: '',
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId,
      contextId,
      taskId,
      role: Role.ROLE_USER,
      parts: [composeTextPart(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
  }
}

export function composeTextPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}
