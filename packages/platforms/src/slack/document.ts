// Reads the body of a verified request of Slack: an event, or a slash command.
import { parseBoundedJson } from '@postern/http'
import type { Json } from '@postern/message'
import { isJsonObject, Rejection } from '@postern/message'
import type { PlatformDocument, PlatformRequest } from '../platform.ts'

/** An event of Slack about a message, as far as the gateway reads it. */
export interface SlackEvent {
  readonly type?: string
  readonly subtype?: string
  readonly channel?: string
  readonly channel_type?: string | undefined
  readonly user?: string
  readonly bot_id?: string
  readonly user_team?: string
  readonly team?: string
  readonly text?: string
  readonly ts?: string
  readonly thread_ts?: string
  readonly blocks?: readonly unknown[]
  readonly files?: readonly SlackFile[]
  readonly edited?: { readonly ts?: string }
  readonly message?: SlackEvent
  readonly previous_message?: SlackEvent
  readonly item?: { readonly channel?: string; readonly ts?: string }
  readonly event_ts?: string
}

interface SlackFile {
  readonly name?: string
  readonly title?: string
  readonly permalink?: string
}

/**
 * The content of a request, as far as the gateway reads it. A slash command has the members of a form. `team_id` is left out: in a channel that
 * two workspaces share it is the workspace of the channel, which may be the other one.
 */
export interface SlackContent {
  readonly event?: SlackEvent
  readonly event_time?: number
  readonly user_id?: string
  readonly trigger_id?: string
}

/** The members that are credentials: the former verification token, and addresses and ids with which anybody could answer. */
const credentials: ReadonlySet<string> = new Set(['token', 'response_url', 'trigger_id'])

/** Reads the body of a request: JSON of the Events API, or the form of a slash command. @throws Rejection `malformed` */
export function readSlackDocument({ headers, body }: PlatformRequest): PlatformDocument {
  const isForm = headers.get('content-type')?.startsWith('application/x-www-form-urlencoded') === true
  const content = isForm
    ? Object.fromEntries(new URLSearchParams(new TextDecoder().decode(body)))
    : parseBoundedJson(body)
  if (!isJsonObject(content)) throw new Rejection('malformed', 'Cannot take request: its body is not a JSON object')
  const kept = Object.entries(content).filter(([name]) => !credentials.has(name))
  const app = content.api_app_id
  return { content, app: typeof app === 'string' ? app : undefined, stored: Object.fromEntries(kept) as Json }
}
