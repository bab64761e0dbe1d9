import { openSimWorld } from '@postern/sim'
import { protocolContract } from '@postern/testing'
import { domain, openTestHouse, origin } from './house.ts'
import { listenApp } from './listen.ts'

protocolContract('activitypub', async ({ watchDesk }) => {
  const sim = await openSimWorld()
  const house = await openTestHouse({ loopback: sim.network.loopback, watchDesk })
  const listener = await listenApp(house.app)
  sim.connectGateway({ origin, port: listener.port })
  return {
    desk: house.desk,
    async deliver({ fault, id, text = 'Hello' } = {}) {
      const host = fault === 'key_host_down' ? 'dead.test' : 'mastodon.test'
      const objectId = id && `https://${host}/users/alice/statuses/${id}`
      const from = 'alice@mastodon.test'
      const sent = await sim.fediverse.deliver({ from, to: `@echo@${domain}`, text, fault, id: objectId })
      const code = sent.body ? JSON.parse(sent.body).code : undefined
      return { accepted: sent.status < 300, answer: sent.status, code }
    },
    async close() {
      await listener.close()
      await house.close()
      await sim.close()
    },
  }
})
