import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { findUnsafeSettings } from '../../src/config/production.ts'
import { parseConfigFile, readConfigFile } from '../../src/config/read-config.ts'
import { createContextFilter, listStages, readInstructions } from './containerfile.ts'

const root = resolve(import.meta.dirname, '../../../..')
const deploy = join(root, 'deploy')
const readText = (name: string) => readFileSync(join(deploy, name), 'utf8')

interface Service {
  readonly image: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly secrets?: readonly string[]
  readonly volumes?: readonly string[]
  readonly networks: Readonly<Record<string, { readonly ipv4_address?: string }>>
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly mem_limit?: string
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly secrets: Readonly<Record<string, unknown>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly networks: { readonly inside: { readonly ipam: { readonly config: readonly { readonly subnet: string }[] } } }
}

const readCompose = (name: string) => parse(readText(name), { merge: true }) as Compose

describe('the images', () => {
  test.each(['Containerfile', 'postfix/Containerfile'])(
    '%s pins the versions of its base images, and downloads nothing with ADD',
    name => {
      const instructions = readInstructions(join(deploy, name))
      expect(instructions.filter(instruction => instruction.name === '' || instruction.name === 'ADD')).toEqual([])
      const bases = instructions
        .filter(instruction => instruction.name === 'FROM')
        .map(({ words }) => words.split(' ')[0])
      for (const base of bases) expect(base).toMatch(/^docker\.io\/library\/\w+:[\w.-]+$/)
      for (const base of bases) expect(base).not.toMatch(/:latest$/)
      expect(instructions.some(instruction => instruction.name === 'HEALTHCHECK')).toBe(true)
    },
  )

  test('the gateway runs as a user who owns only its data, with the Node version of the repository', () => {
    const finalStage = listStages(readInstructions(join(deploy, 'Containerfile'))).at(-1) ?? []
    const findInstructions = (name: string) =>
      finalStage.filter(instruction => instruction.name === name).map(({ words }) => words)
    expect(findInstructions('USER')).toEqual(['10001:10002'])
    expect(findInstructions('FROM')[0]).toContain(`node:${readFileSync(join(root, '.nvmrc'), 'utf8').trim()}-`)
    expect(finalStage.findIndex(instruction => instruction.name === 'USER')).toBeGreaterThan(
      finalStage.findLastIndex(instruction => instruction.name === 'RUN'),
    )
    expect(findInstructions('COPY').filter(text => text.includes('--chown'))).toEqual([])
  })

  test('an image contains the sources, without tests, secrets, data or installed packages', () => {
    const isTaken = createContextFilter(root)
    for (const path of [
      'package.json',
      'package-lock.json',
      'apps/gateway/bin/postern.mjs',
      'packages/message/src/index.ts',
    ]) {
      expect([path, existsSync(join(root, path)), isTaken(path)]).toEqual([path, true, true])
    }
    const includedPaths = [
      '.git/config',
      'deploy/secrets/operator_token',
      'deploy/.env',
      'node_modules/zod/index.js',
      'apps/bench/src/main.ts',
    ]
    const nested = [
      'packages/email/node_modules/x/y.js',
      'apps/gateway/test/x.ts',
      'packages/message/src/a/b.test.ts',
      'apps/gateway/.postern/postern.db',
    ]
    for (const path of [...includedPaths, ...nested]) expect([path, isTaken(path)]).toEqual([path, false])
  })
})

describe.each([
  ['compose.yaml', 'postern.config.json', ['gateway']],
  ['compose.postgres.yaml', 'postern.postgres.json', ['one', 'two']],
] as const)('%s', (name, configName, gateways) => {
  const { services, secrets, volumes, networks } = readCompose(name)

  test('runs gateways with a read-only root, no capabilities, no new privileges, and a memory limit', () => {
    for (const gateway of gateways) {
      expect(services[gateway]).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: '512m',
      })
    }
  })

  test('refers only to existing files', () => {
    const serviceList = Object.values(services)
    const sources = serviceList.flatMap(service => service.volumes ?? []).map(volume => volume.split(':')[0] ?? '')
    const isFile = (source: string) => source.startsWith('.')
    expect(sources.filter(isFile).filter(source => !existsSync(join(deploy, source)))).toEqual([])
    const expected = {
      secrets: serviceList.flatMap(service => service.secrets ?? []),
      services: serviceList.flatMap(service => Object.keys(service.depends_on ?? {})),
      volumes: sources.filter(source => !isFile(source)),
    }
    expect(Object.keys(secrets)).toEqual(expect.arrayContaining(expected.secrets))
    expect(Object.keys(services)).toEqual(expect.arrayContaining(expected.services))
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining(expected.volumes))
    const foreign = serviceList.map(({ image }) => image).filter(image => !/^postern(-postfix)?$/.test(image))
    for (const image of foreign) expect(image).toMatch(/^docker\.io\/library\/\w+:\d[\w.-]+$/)
  })

  test('has a valid configuration that trusts only its one proxy', async () => {
    const config = await readDeployed(configName)
    expect(config.origin).toBe('https://agents.example')
    const proxy = services.caddy?.networks.inside?.ipv4_address
    expect(config.network.trusted_proxies).toEqual([proxy])
    expect(networks.inside.ipam.config[0]?.subnet).toBe(proxy?.replace(/\.\d+$/, '.0/24'))
    const upstreams = services.caddy?.environment.POSTERN_UPSTREAM?.split(' ')
    expect(upstreams).toEqual(gateways.map(gateway => `${gateway}:8787`))
  })
})

test('Postfix may open the gateway’s socket by a shared group, volume and path', async () => {
  const { services } = readCompose('compose.yaml')
  const lmtp = 'lmtp:/run/postern'
  expect(services.gateway?.volumes).toContain(lmtp)
  expect(services.postfix?.volumes).toContain(lmtp)
  expect(readText('postfix/Containerfile')).toContain('groupadd --gid 10002 postfix')
  expect(readText('postfix/main.cf')).toContain('virtual_transport = lmtp:unix:/run/postern/lmtp')
  const { email } = (await readDeployed('postern.config.json')) as unknown as {
    email: { listen: object; submit: object }
  }
  expect(email.listen).toMatchObject({ path: '/run/postern/lmtp', protocol: 'lmtp' })
  expect(email.submit).toMatchObject({ host: 'postfix', port: 25 })
})

/** Reads a file like `start`, with secrets of this test in place of the container's. */
async function readDeployed(name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-deploy-'))
  writeFileSync(join(folder, 'operator_token'), 'a-token-of-the-operator-for-tests')
  writeFileSync(join(folder, 'store_url'), 'postgres://postern:secret-of-the-tests@postgres:5432/postern')
  const path = join(folder, 'postern.config.json')
  writeFileSync(path, readText(name).replaceAll('/run/secrets/', `${folder}/`))
  const environment = { POSTERN_ORIGIN: 'https://agents.example', POSTERN_LISTEN_HOST: '0.0.0.0' }
  return parseConfigFile(await readConfigFile({ path, environment, workingDir: folder }), findUnsafeSettings)
}
