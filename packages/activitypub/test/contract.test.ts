import { openSimulation } from '@postern/simulation'
import { protocolContract } from '@postern/testing'
import { activityPubDescriptor } from '../src/speaker.ts'
import { domain, openActivityPubGateway, origin } from './gateway.ts'
import { listenApp } from './listen.ts'

protocolContract(activityPubDescriptor, async ({ watchStore }) => {
  const simulation = await openSimulation()
  const gateway = await openActivityPubGateway({ loopback: simulation.network.loopback, watchStore })
  const listener = await listenApp(gateway.app)
  simulation.connectGateway({ origin, port: listener.port })
  return {
    store: gateway.store,
    async deliver({ fault, id, text = 'Hello' } = {}) {
      const host = fault === 'key_host_down' ? 'dead.test' : 'mastodon.test'
      const objectId = id && `https://${host}/users/alice/statuses/${id}`
      const from = 'alice@mastodon.test'
      const sent = await simulation.fediverse.deliver({ from, to: `@echo@${domain}`, text, fault, id: objectId })
      const code = sent.body ? JSON.parse(sent.body).code : undefined
      return { accepted: sent.status < 300, answer: sent.status, code }
    },
    async close() {
      await listener.close()
      await gateway.close()
      await simulation.close()
    },
  }
})
