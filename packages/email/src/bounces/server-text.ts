// Reads the human-readable text of a report about an undelivered mail.

/** The longest text that is read, in characters and in lines. */
const [maxTextChars, maxLines] = [64 * 1024, 1000]

/**
 * Finds the reply of the refusing server if only the human-readable text contains the reply: `someone@example.org: 550
 * No such user here` (OpenSMTPD), or the address with the reason in the lines below it (Exim, qmail).
 */
export function findReplyLine(text: string, recipient: string): string {
  const address = recipient
    .replace(/^[^;]*;/, '')
    .trim()
    .toLowerCase()
  const lines = text.slice(0, maxTextChars).split(/\r?\n/, maxLines)
  const trimReplyLine = (line: string) =>
    line
      .trim()
      .toLowerCase()
      .replace(/^(?:recipient:\s*)?<?/, '')
  const index = lines.findIndex(line => `${trimReplyLine(line).replace('>', '')}:`.startsWith(`${address}:`))
  if (!address || index < 0) return ''
  const followingLines = lines.slice(index, index + 6)
  const end = followingLines.findIndex(line => line.trim() === '')
  return followingLines
    .slice(0, end < 0 ? undefined : end)
    .join(' ')
    .trim()
    .slice(address.length)
}

/** Matches the phrases by which servers without enhanced codes report an unknown user. */
const unknownUserPattern =
  /\bno such (?:user|recipient|mailbox|address|account)|\bno mailbox here by that name|(?:user|recipient|mailbox|address|account)(?: is)? (?:unknown|not found|unavailable|does(?: not|n.t) exist)|\b(?:unknown|invalid|nonexistent) (?:user|recipient|mailbox|address)|\bunrouteable address/i

/**
 * Returns a more exact status if the reply contains one. Some servers (Exim, qmail, OpenSMTPD) report only `5.0.0`, and the reply of the refusing
 * server has the details.
 */
export function refineStatus(status: string | undefined, reply: string): string {
  if (status && !status.endsWith('.0.0')) return status
  const enhancedStatus = /(?:^|[\s#(<])([45]\.\d{1,3}\.\d{1,3})\b/.exec(reply)?.[1]
  if (enhancedStatus && !enhancedStatus.endsWith('.0.0') && (!status || enhancedStatus[0] === status[0]))
    return enhancedStatus
  const classStatus = status ?? (/(?:^|[\s;])4\d\d[\s-]/.test(reply) ? '4.0.0' : '5.0.0')
  return classStatus === '5.0.0' && unknownUserPattern.test(reply) ? '5.1.1' : classStatus
}

/** Matches the line at which a report begins to repeat the mail: a line of dashes that announces a copy, or the first field of the mail's header. */
const copyStartPattern =
  /^(?:--.*\b(?:copy|original|returned|headers?)\b.*|.*\b(?:copy|headers?) of (?:the|your) (?:original )?(?:message|mail)\b.*|(?:return-path|received|dkim-signature|x-postern-hop|message-id|from|to|subject|date|mime-version): .*)$/im

/** Returns the text of a report without the copy of the mail below it. */
export function readServerText(text: string): string {
  const shortText = text.slice(0, maxTextChars)
  const copy = copyStartPattern.exec(shortText)
  return shortText.slice(0, copy?.index)
}

/** Matches phrases of the warnings that servers send while they still retry. */
const warningPattern =
  /\b(?:warning|delay(?:ed)?|not yet been delivered|still undelivered|will (?:keep|continue) (?:on )?try|no action is required|being retried)\b/i

/** Returns true if a server only warns that it is still trying. */
export function isWarning(subject: string, text: string): boolean {
  return (
    warningPattern.test(subject) ||
    (warningPattern.test(text) && !/\b(?:given up|giving up|could not be delivered)\b/i.test(text))
  )
}
