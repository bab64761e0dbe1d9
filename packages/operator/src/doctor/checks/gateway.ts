// Checks that the gateway opens, runs, writes, protects the operator's API and knows its clients.
import { ConfigError, Unavailable } from '@postern/message'
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import { digestAgentNames, formatAgentNames } from '../agent-names.ts'
import type { Check, MachineCheck } from '../check.ts'
import { outcomeFor, skip, toFailure } from '../check.ts'
import type { DoctorDeps } from '../deps.ts'
import { requireOpened } from '../deps.ts'
import { describeError } from '../describe-error.ts'
import type { CheckOutcome } from '../report.ts'

/** The check that reports why a gateway does not open. */
export const gatewayOpenChecks: readonly MachineCheck[] = [
  {
    id: 'gateway.opens',
    description: 'The gateway opens: its store, its agents and its channels.',
    fix: 'Follow the message; until then most other checks do not run.',
    run: ({ configFaults, openFaults }) => {
      if (configFaults.length > 0) return skip('gateway', 'the configuration has faults; see configuration.valid')
      return openFaults.length === 0
        ? outcomeFor('gateway', ok('the gateway can be opened'))
        : openFaults.map(toFailure)
    },
  },
]

export const gatewayChecks: readonly Check[] = [
  {
    id: 'gateway.running',
    description: 'A gateway is running on the data folder.',
    fix: 'Start it with `postern start`, or with `npm start` for dev mode.',
    run: ({ isRunning }) =>
      outcomeFor(
        'gateway',
        isRunning
          ? ok('the gateway is running')
          : warning(
              'no gateway is running on this data directory',
              'Start it with "postern start" (or "npm start" for dev mode).',
            ),
      ),
  },
  {
    id: 'gateway.configuration',
    description: 'The gateway that runs has the origin and the agents of the configuration file.',
    fix: 'Restart the gateway, so that it reads the file.',
    needs: ['gateway', 'running'],
    run: deps => outcomeFor('gateway', judgeConfiguration(deps)),
  },
  {
    id: 'gateway.writes',
    description: 'The store takes writes.',
    fix: 'Free space on the disk, or look after the database server.',
    needs: ['gateway', 'running'],
    run: async deps => outcomeFor('store', await judgeWrites(deps)),
  },
  {
    id: 'gateway.operator_api',
    description: 'The gateway answers at its port, and its operator API asks for the token.',
    fix: 'Let nothing else listen on the port, and no proxy add the token.',
    needs: ['gateway', 'running'],
    run: checkOperatorApi,
  },
  {
    id: 'gateway.proxies',
    description:
      'The proxy that ends TLS is one of `network.trusted_proxies`, so that the gateway can tell its clients apart.',
    fix: 'Add the address of the proxy to `network.trusted_proxies`.',
    needs: ['gateway'],
    run: deps => outcomeFor('network.trusted_proxies', judgeProxies(deps)),
  },
]

/** Compares the running gateway with the configuration file, which may have changed, or belong to another gateway. */
function judgeConfiguration({ config, expected = {} }: DoctorDeps): Verdict {
  const { origin = config.origin } = expected
  if (origin !== config.origin)
    return failure(`the gateway runs with the origin ${config.origin}, and the file has ${origin}`, restartFix)
  const runningNames = Object.keys(config.agents).sort()
  const { agents, agentsDigest = digestAgentNames(agents ?? runningNames) } = expected
  if (agentsDigest === digestAgentNames(runningNames))
    return ok('the gateway runs with the origin and the agents of the file')
  const configuredNames = agents ? formatAgentNames(agents.toSorted()) : 'others'
  return failure(
    `the gateway runs with the agents ${formatAgentNames(runningNames)}, and the file has ${configuredNames}`,
    restartFix,
  )
}

const restartFix = 'Restart the gateway, or ask with the file that it runs with (--config).'

const operatorPath = '/operator/api/status'

/** Checks that the operator’s API requires its token, and accepts it. */
async function checkOperatorApi(deps: DoctorDeps): Promise<CheckOutcome> {
  const { listening, operatorToken } = requireOpened(deps)
  const [http] = listening
  if (!http) return skip(operatorPath, 'no gateway is running')
  const url = `http://${deps.config.listen.host === '::1' ? '[::1]' : '127.0.0.1'}:${http.port}${operatorPath}`
  try {
    const [statusWithoutToken, statusWithToken] = await Promise.all([
      fetchStatus(url, {}),
      fetchStatus(url, { authorization: `Bearer ${operatorToken}` }),
    ])
    if (statusWithoutToken !== 401)
      return outcomeFor(
        operatorPath,
        failure(
          `the operator's API answers ${statusWithoutToken} to somebody without a token`,
          'Let nothing else listen on the port of the gateway, and no proxy add the token.',
        ),
      )
    return statusWithToken === 200
      ? outcomeFor(operatorPath, ok("the operator's API asks for its token, and takes it"))
      : outcomeFor(
          operatorPath,
          failure(`the operator's API answers ${statusWithToken} to its token`, 'Restart the gateway.'),
        )
  } catch (error) {
    const message = `the gateway does not answer at its own port: ${describeError(error)}`
    return outcomeFor(operatorPath, failure(message, 'See the log of the gateway.'))
  }
}

async function fetchStatus(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(5_000) })
  await response.body?.cancel()
  return response.status
}

async function judgeWrites(deps: DoctorDeps): Promise<Verdict> {
  try {
    await requireOpened(deps).store.checkWork()
    return ok('the store takes writes')
  } catch (error) {
    const cause = error instanceof Unavailable ? error.cause : undefined
    if (cause instanceof ConfigError)
      return failure(`the store takes no writes: ${toFailure(cause).message}`, cause.fix)
    const fix = 'Free space on the disk, or look after the database server.'
    return failure(`the store takes no writes: ${describeError(error)}`, fix)
  }
}

function judgeProxies(deps: DoctorDeps): Verdict {
  const fault = requireOpened(deps).findProxyFault()
  return fault ? warning(fault.message, fault.fix) : ok('the clients behind the proxy are told apart')
}
