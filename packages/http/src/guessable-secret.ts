/** Whether a secret of the configuration is so short that it can be guessed. One that is not set cannot. */
export function isGuessableSecret(secret: string | undefined): boolean {
  return secret !== undefined && secret.length < 16
}
