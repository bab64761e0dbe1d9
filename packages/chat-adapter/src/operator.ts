// Posts, edits and reacts for a bot through the operator API of the gateway.
import type { AgentAction } from '@postern/message'
import { leavesInClearText, parseJsonText } from '@postern/message'

/** The operator API of the gateway, which accepts the posts that a bot makes on its own initiative. */
export interface PosternOperator {
  /** The address of the gateway, such as `http://127.0.0.1:8787`. It needs https unless it leads to this machine. */
  readonly url: string
  /** The operator token. */
  readonly token: string
}

/** Performs an action as an agent (`POST /operator/api/agents/{agent}/acts`). @returns the id of a post. @throws Error with the gateway's message */
export async function performForBot(
  { url, token }: PosternOperator,
  agent: string,
  action: AgentAction,
): Promise<string> {
  checkGatewayUrl(url)
  const answer = await fetch(`${url}/operator/api/agents/${encodeURIComponent(agent)}/acts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ acts: [action] }),
  })
  const parsedAnswer = readAnswer(await answer.text())
  if (!answer.ok) throw new Error(parsedAnswer.detail ?? `The gateway answered ${answer.status}`)
  return parsedAnswer.done?.[0]?.id ?? ''
}

/** Checks that the token leaves this machine only over https. @throws Error */
function checkGatewayUrl(text: string): void {
  const url = new URL(text)
  if (!leavesInClearText(url)) return
  throw new Error(
    `Cannot send the operator token to ${url.origin} in clear text: use https, or a tunnel to this machine`,
  )
}

interface ActsAnswer {
  readonly detail?: string
  readonly done?: readonly { readonly id?: string }[]
}

/** Reads the answer. Returns an empty one for a body that is not JSON, such as a proxy's page. */
function readAnswer(text: string): ActsAnswer {
  try {
    return parseJsonText(text) as ActsAnswer
  } catch {
    return {}
  }
}
