import { expect, test } from 'vitest'
import { openRequirementsGateway } from './gateway.ts'

test('a decision link works for a week after a rotation, and a new link names the same requirement', async () => {
  const gateway = await openRequirementsGateway()
  const { path, planned } = await gateway.requirement('consent_required')
  const visit = async (where: string) => (await fetch(gateway.url + where)).status
  await gateway.store.rotateSecrets()
  const renewed = `/actions/${gateway.requirements.states.stateOf(planned.id)}`
  expect(renewed).not.toBe(path)
  expect([await visit(path), await visit(renewed)]).toEqual([200, 200])
  expect(gateway.requirements.states.stateOf(planned.id, planned.digest)).toBe(path.slice('/actions/'.length))
  await gateway.store.rotateSecrets({ isRevoking: true })
  expect([await visit(path), await visit(renewed)]).toEqual([403, 403])
  expect(await visit(`/actions/${gateway.requirements.states.stateOf(planned.id)}`)).toBe(200)
  expect(await visit(`/actions/${'A'.repeat(43)}`)).toBe(404)
  await gateway.close()
})
