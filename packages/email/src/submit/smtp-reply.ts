// Reads the reply of a smarthost, without the addresses that its text may name.

import type { DeliveryReply } from '@postern/message'

/**
 * Returns the code and the enhanced code (RFC 3463) of a reply. The result omits the text, because the text may name
 * other addresses.
 */
export function formatReplyCodes(code: number | undefined, text: string): string {
  const enhancedCode = /(?:^|[\s-])([245]\.\d{1,3}\.\d{1,3})(?=\s|$)/.exec(text)?.[1]
  return [code, enhancedCode].filter(Boolean).join(' ')
}

const maxReplyLineChars = 200

/** Returns the first line of the server's reply for the operator, without addresses, because the text may name people other than the recipient. */
export function readSmtpReply({
  responseCode,
  response = '',
}: {
  readonly responseCode?: number | undefined
  readonly response?: string | undefined
}): DeliveryReply {
  const [line = ''] = response.slice(0, 2_000).split(/[\r\n]/, 1)
  const text = line.replace(/[^\s<>@]+@[^\s<>@]+/g, '…').replace(/\p{Cc}/gu, ' ')
  const status = responseCode ?? (Number(/^\d{3}/.exec(line)?.[0]) || undefined)
  return {
    ...(status !== undefined && { status }),
    ...(text && { reply_line: text.slice(0, maxReplyLineChars).toWellFormed() }),
  }
}
