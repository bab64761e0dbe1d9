import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { minimumNode } from '../../../apps/gateway/bin/launch.mjs'

interface RootManifest {
  readonly version: string
  readonly description: string
  readonly license: string
  readonly repository?: unknown
  readonly homepage?: string
  readonly bugs?: unknown
}

/** What the manifests of all our packages share. Where the project's own names a repository, npm attests that they were built there. */
export function readPublication(root: string): object {
  const { version, description, license, repository, homepage, bugs } = readRootManifest(root)
  return {
    ...{ version, description, license, repository, homepage, bugs },
    engines: { node: `>=${minimumNode}` },
    publishConfig: { access: 'public', provenance: true },
  }
}

/** What keeps the packages from being published, a sentence each. */
export function findReleaseFaults({ repository }: Pick<RootManifest, 'repository'>): readonly string[] {
  const url = typeof repository === 'string' ? repository : (repository as { readonly url?: unknown } | undefined)?.url
  if (typeof url === 'string' && url !== '') return []
  return [
    'Cannot release: package.json names no "repository", by which npm attests where a package was built. ' +
      'Set it to the address of the repository that publishes.',
  ]
}

export function readRootManifest(root: string): RootManifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest
}
