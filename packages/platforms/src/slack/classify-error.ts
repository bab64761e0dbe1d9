// Classifies errors of Slack's API: later, or never.
import { Unavailable, Undeliverable } from '@postern/message'

/** An error of Slack's client. */
interface SlackError {
  readonly name?: string
  readonly code?: string
  readonly retryAfter?: number
  readonly statusCode?: number
  readonly data?: { readonly error?: string; readonly needed?: string }
}

/** The answers of Slack that a later attempt may change (documentation of `chat.postMessage`, "Errors"). */
const temporaryErrors: ReadonlySet<string> = new Set([
  'fatal_error',
  'internal_error',
  'ratelimited',
  'rate_limited',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
])

/** The fixes for answers that the operator can mend. */
const fixes: Readonly<Record<string, string>> = {
  account_inactive: 'Install the app in the workspace again, and set platforms.slack.bot_token.',
  channel_not_found: 'Invite the app to the channel.',
  invalid_auth: 'Set platforms.slack.bot_token to the token of the installed app.',
  is_archived: 'The channel is archived.',
  missing_scope: 'Add the scope to the app, and install it again.',
  not_authed: 'Set platforms.slack.bot_token.',
  not_in_channel: 'Invite the app to the channel.',
  token_expired: 'Install the app in the workspace again, and set platforms.slack.bot_token.',
  token_revoked: 'Install the app in the workspace again, and set platforms.slack.bot_token.',
}

/** Returns true if Slack no longer has the post. */
export function isMissingPost(error: unknown): boolean {
  return (error as SlackError | undefined)?.data?.error === 'message_not_found'
}

/** Returns an error of Slack's client as one of the gateway's. Every other error stays as it is. */
export function classifySlackError(error: unknown): unknown {
  const { code = '', name = '', retryAfter, statusCode, data } = (error ?? {}) as SlackError
  if (code === 'slack_webapi_rate_limited_error') {
    return new Unavailable('Slack asked for time', { cause: error, status: 429, retryAfter })
  }
  if (name !== 'AdapterRateLimitError' && !code.startsWith('slack_webapi_')) return error
  const reason = data?.error
  if (reason !== undefined && !temporaryErrors.has(reason)) {
    const scope = data?.needed === undefined ? '' : ` "${data.needed}"`
    const fix = fixes[reason]
    const message = `Slack refused: ${reason}${scope}.${fix === undefined ? '' : ` ${fix}`}`
    return new Undeliverable(message, { cause: error, replyLine: reason })
  }
  const status = statusCode === undefined ? {} : { status: statusCode }
  const description = reason ?? (error as Error).message
  return new Unavailable(`Slack did not answer (${description})`, { cause: error, ...status })
}
