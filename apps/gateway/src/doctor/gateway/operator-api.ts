import { failure, ok } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, describeError, skip } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'

const path = '/operator/api/keys'

/** Whether the API that reads and decides everything asks for the token, and takes it. */
export async function checkOperatorApi(deps: DoctorDeps): Promise<CheckOutcome> {
  const { listening, operatorToken } = requireOpened(deps)
  const [http] = listening
  if (!http) return skip(path, 'no gateway is running')
  const url = `http://${deps.config.listen.host === '::1' ? '[::1]' : '127.0.0.1'}:${http.port}${path}`
  try {
    const [without, withToken] = await Promise.all([
      askStatus(url, {}),
      askStatus(url, { authorization: `Bearer ${operatorToken}` }),
    ])
    if (without !== 401)
      return about(
        path,
        failure(
          `the operator's API answers ${without} to somebody without a token`,
          'Let nothing else listen on the port of the gateway, and no proxy add the token.',
        ),
      )
    return withToken === 200
      ? about(path, ok("the operator's API asks for its token, and takes it"))
      : about(path, failure(`the operator's API answers ${withToken} to its token`, 'Restart the gateway.'))
  } catch (error) {
    const message = `the gateway does not answer at its own port: ${describeError(error)}`
    return about(path, failure(message, 'Look into the log of the gateway.'))
  }
}

async function askStatus(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const answer = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(5_000) })
  await answer.body?.cancel()
  return answer.status
}
