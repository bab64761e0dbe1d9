// Recognizes secrets that are short enough to guess.

/** Returns true if a secret of the configuration is so short that it can be guessed, and false if the secret is not set. */
export function isGuessableSecret(secret: string | undefined): boolean {
  return secret !== undefined && secret.length < 16
}
