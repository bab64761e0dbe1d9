import type { Check } from '../check.ts'
import { checkEndpoints } from './endpoints.ts'
import { checkTokenIssuers, checkTrustedIssuers } from './issuers.ts'

const group = 'agents'
const startIt = 'Start the server there, or correct the URL in `agents`.'

/** What agents, and those who call them, depend on. */
export const agentChecks: readonly Check[] = [
  {
    id: 'agents.webhooks',
    group,
    what: 'The URL of each webhook agent answers (HEAD). The check sends no message.',
    fix: startIt,
    needs: [],
    run: deps => checkEndpoints(deps, 'webhooks'),
  },
  {
    id: 'agents.models',
    group,
    what: 'The endpoint of each model answers (HEAD). The check asks the model nothing.',
    fix: startIt,
    needs: [],
    run: deps => checkEndpoints(deps, 'models'),
  },
  {
    id: 'agents.remotes',
    group,
    what: 'The gateway reaches remote agents (A2A, AG-UI) that answer under one of our names.',
    fix: startIt,
    needs: [],
    run: deps => checkEndpoints(deps, 'remotes'),
  },
  {
    id: 'agents.tools',
    group,
    what: 'The gateway reaches the MCP servers of agents.',
    fix: startIt,
    needs: [],
    run: deps => checkEndpoints(deps, 'tools'),
  },
  {
    id: 'agents.trusted_issuers',
    group,
    what: 'The gateway can read the keys of `identity.trusted_issuers`.',
    fix: 'Ask the issuer; until then its evidence does not count.',
    needs: ['outside'],
    timeoutMs: 20_000,
    run: checkTrustedIssuers,
  },
  {
    id: 'agents.token_issuers',
    group,
    what: 'The gateway can read the key sets (JWKS) of `a2a.auth.issuers` and `web.auth.issuers`.',
    fix: 'Correct `jwks` of the issuer.',
    needs: ['outside'],
    run: checkTokenIssuers,
  },
]
