import { resolve } from 'node:path'
import type { LeftAloneHost, Listening } from '@postern/core'
import type { Hono } from 'hono'
import type { DoctorDeps } from '../doctor/deps.ts'
import { realMachine } from '../doctor/machine/facts.ts'
import type { SelfVisits } from '../doctor/network/visits.ts'
import { openOutside } from '../doctor/outside.ts'
import type { UnknownProxies } from '../http/unknown-proxies.ts'
import { createResolvePlatform } from '../resolve/own-platform.ts'
import type { Foundation } from './foundation.ts'

/** What runs now. */
export interface GatewayActivity {
  /** Open sockets, the HTTP server's first; none before it runs. */
  listListening(): readonly Listening[]
  /** Hosts that nothing is delivered to. */
  listLeftAlone(): readonly LeftAloneHost[]
}

interface DoctorParts {
  readonly operatorToken: string
  readonly activity: GatewayActivity
  readonly unknownProxies: Pick<UnknownProxies, 'list'>
  readonly visits: SelfVisits
  findApp(): Hono
}

/** What the checks of the installation ask; made anew for each run, which then keeps what it has asked. */
export function createDoctorDepsFactory(foundation: Foundation, parts: DoctorParts): () => DoctorDeps {
  const { config, store, channels, agents, slices, platform, baseDir, configPath } = foundation
  const outside = openOutside(platform, config)
  const { operatorToken, activity, unknownProxies, visits, findApp } = parts
  return () => {
    const listening = activity.listListening()
    const gateway = {
      ...{ store, channels, agents, slices, listening, operatorToken, visits },
      listLeftAlone: activity.listLeftAlone,
      listUnknownProxies: unknownProxies.list,
      openResolvePlatform: () => createResolvePlatform({ config, platform, channels, app: findApp() }),
    }
    return {
      ...{ config, configPath, gateway, outside },
      directory: resolve(baseDir, config.data),
      facts: realMachine,
      now: platform.now,
      configFaults: [],
      openFaults: [],
      isRunning: listening.length > 0,
    }
  }
}
