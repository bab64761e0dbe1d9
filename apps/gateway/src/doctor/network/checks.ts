import type { Check } from '../check.ts'
import { checkAddresses } from './dns.ts'
import {
  checkBodySize,
  checkClientAddress,
  checkHostHeader,
  checkOrigin,
  checkSameGateway,
  checkStreaming,
} from './origin.ts'
import { checkPlainHttp, checkPorts } from './ports.ts'

const group = 'network'

/** The way in from outside, as far as it can be seen from here. */
export const networkChecks: readonly Check[] = [
  {
    id: 'network.dns',
    group,
    what: 'The hosts of `origin` and `handle_host` have A or AAAA records, and these are public.',
    fix: 'Publish an A record (and AAAA for IPv6) with the public address of the server.',
    needs: ['outside'],
    run: checkAddresses,
  },
  {
    id: 'network.ports',
    group,
    what: 'Each public address takes connections on port 443.',
    fix: 'Open TCP port 443 in the firewall and the router.',
    needs: ['outside'],
    run: checkPorts,
  },
  {
    id: 'network.plain_http',
    group,
    what: 'Port 80 redirects to https, or is closed.',
    fix: 'Let the proxy redirect to https (308).',
    needs: ['outside'],
    run: checkPlainHttp,
  },
  {
    id: 'network.origin',
    group,
    what: '`origin` reaches a gateway.',
    fix: 'Check DNS, TLS and the reverse proxy.',
    needs: ['outside', 'running'],
    run: checkOrigin,
  },
  {
    id: 'network.same_gateway',
    group,
    what: '`origin` reaches this gateway and no other.',
    fix: 'Let the proxy pass the origin on to this gateway alone.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkSameGateway,
  },
  {
    id: 'network.client_address',
    group,
    what: 'The proxy says who its clients are, and clients cannot say so themselves.',
    fix: 'Let the proxy send `X-Forwarded-For`, and name only your proxies in `network.trusted_proxies`.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkClientAddress,
  },
  {
    id: 'network.host_header',
    group,
    what: 'The proxy leaves the `Host` field as it is.',
    fix: 'In nginx: `proxy_set_header Host $host;`.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkHostHeader,
  },
  {
    id: 'network.body_size',
    group,
    what: 'The proxy passes on bodies of 1.5 MB.',
    fix: 'In nginx: `client_max_body_size 30m;`.',
    needs: ['gateway', 'outside', 'peers'],
    timeoutMs: 20_000,
    run: checkBodySize,
  },
  {
    id: 'network.streaming',
    group,
    what: 'The proxy passes streams on as they come.',
    fix: 'In nginx: `proxy_buffering off;`.',
    needs: ['gateway', 'outside', 'peers'],
    run: checkStreaming,
  },
]
