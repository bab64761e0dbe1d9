import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Log } from '@postern/core'
import { ConfigError } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import type { DomainFile, DomainFileUse } from './file.ts'
import { parseDomainFile } from './file.ts'

/**
 * The configuration with what its files of domains list, read once. Paths start at the configuration file.
 * @throws AggregateError of ConfigErrors, one for each file that cannot be taken
 */
export function readDomainLists(config: ActivityPubConfig, { baseDir, log }: DomainListPlace): ActivityPubConfig {
  const faults: ConfigError[] = []
  const readAll = (use: DomainFileUse): readonly string[] =>
    config[`${use}_files`].flatMap((name, index) => {
      const key = `activitypub.${use}_files.${index}`
      try {
        const file = readDomainFile(name, { key, use, baseDir })
        reportSkipped(file, name, { key, log })
        return file.domains
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        faults.push(error)
        return []
      }
    })
  const block = [...config.block, ...readAll('block')]
  const allow = [...config.allow, ...readAll('allow')]
  if (faults.length > 0) throw new AggregateError(faults, 'The configuration has faults')
  return { ...config, block, allow }
}

interface DomainListPlace {
  readonly baseDir: string
  readonly log: Log
}

interface Named {
  readonly key: string
  readonly use: DomainFileUse
  readonly baseDir: string
}

function readDomainFile(name: string, { key, use, baseDir }: Named): DomainFile {
  const parsed = parseDomainFile(readText(resolve(baseDir, name), name, key), use)
  if ('problem' in parsed) throw new ConfigError(key, `"${name}", line ${parsed.line}: ${parsed.problem}`, parsed.fix)
  if (use === 'allow' && parsed.domains.length === 0) {
    throw new ConfigError(
      key,
      `"${name}" names no domain`,
      'Add one, or remove the file: an empty list allows everybody.',
    )
  }
  return parsed
}

function readText(path: string, name: string, key: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (cause) {
    throw new ConfigError(key, `the file "${name}" cannot be read as UTF-8 text`, 'Create it, or correct its path.', {
      cause,
    })
  }
}

const maxShown = 20

function reportSkipped(
  { obfuscated, milder, domains }: DomainFile,
  file: string,
  { key, log }: { readonly key: string; readonly log: Log },
): void {
  log.info({ key, file, domains: domains.length, milder }, 'list of domains read')
  if (obfuscated.length === 0) return
  const skipped = { key, file, count: obfuscated.length, lines: obfuscated.slice(0, maxShown) }
  log.warn(skipped, 'domains hidden by asterisks are not blocked: nobody can tell which they are')
}
