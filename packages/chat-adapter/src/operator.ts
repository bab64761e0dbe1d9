import type { AgentAction } from '@postern/core'
import { parseJsonText } from '@postern/core'

/** Where the gateway takes what a bot says of its own. */
export interface PosternOperator {
  /** Such as `http://127.0.0.1:8787`. */
  readonly url: string
  /** The operator token. */
  readonly token: string
}

/** Performs an action as an agent (`POST /operator/api/agents/{agent}/acts`). @returns id of a post. @throws Error with what the gateway says */
export async function performForBot({ url, token }: PosternOperator, agent: string, act: AgentAction): Promise<string> {
  const answer = await fetch(`${url}/operator/api/agents/${encodeURIComponent(agent)}/acts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ acts: [act] }),
  })
  const said = readAnswer(await answer.text())
  if (!answer.ok) throw new Error(said.detail ?? `The gateway answered ${answer.status}`)
  return said.done?.[0]?.id ?? ''
}

interface ActsAnswer {
  readonly detail?: string
  readonly done?: readonly { readonly id?: string }[]
}

/** Empty for what is no JSON: a proxy's page. */
function readAnswer(text: string): ActsAnswer {
  try {
    return parseJsonText(text) as ActsAnswer
  } catch {
    return {}
  }
}
